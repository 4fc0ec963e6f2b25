#include "collector/action_config.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "common/daemon/config_sections.h"
#include "common/http/http_client.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxRules = 32;
constexpr absl::Duration kYear = absl::Hours(24 * 366);

// What this version can do, by the name that it has in the file.
const std::map<std::string, v1::ActionKind>& Kinds() {
  static const auto* kinds = new std::map<std::string, v1::ActionKind>{
      {"command", v1::ACTION_KIND_COMMAND},
      {"kubernetes_condition", v1::ACTION_KIND_KUBERNETES_CONDITION},
      {"kubernetes_cordon", v1::ACTION_KIND_KUBERNETES_CORDON},
      {"kubernetes_event", v1::ACTION_KIND_KUBERNETES_EVENT},
      {"kubernetes_taint", v1::ACTION_KIND_KUBERNETES_TAINT},
      {"slurm_drain", v1::ACTION_KIND_SLURM_DRAIN},
  };
  return *kinds;
}

ActionLimits ReadLimits(YamlValue section) {
  ActionLimits out;
  out.period = section.Key("period").Duration(out.period, absl::Seconds(1), kYear);
  out.max_nodes = static_cast<uint32_t>(section.Key("max_nodes").Int(out.max_nodes, 1, 1'000'000));
  out.max_share = section.Key("max_share").Double(out.max_share, 0, 1);
  out.min_healthy = section.Key("min_healthy").Double(out.min_healthy, 0, 1);
  out.min_healthy_nodes =
      static_cast<uint32_t>(section.Key("min_healthy_nodes").Int(out.min_healthy_nodes, 0, 1'000'000));
  section.NoOtherKeys();
  return out;
}

EvidenceNeeded ReadEvidence(YamlValue section) {
  EvidenceNeeded out;
  out.benchmarks = static_cast<uint32_t>(section.Key("benchmarks").Int(out.benchmarks, 2, 100));
  out.confirmed_alone = section.Key("confirmed_alone").Bool(out.confirmed_alone);
  section.NoOtherKeys();
  return out;
}

void ReadSlurm(YamlValue section, ActionsConfig* out) {
  YamlValue scontrol = section.Key("scontrol");
  out->slurm.scontrol = scontrol.String("scontrol");
  if (scontrol.present() && !absl::StartsWith(out->slurm.scontrol, "/")) {
    scontrol.Fault("must be an absolute path, as /usr/bin/scontrol");
  }
  YamlValue conf = section.Key("slurm_conf");
  out->slurm.slurm_conf = conf.String();
  if (conf.present() && !absl::StartsWith(out->slurm.slurm_conf, "/")) {
    conf.Fault("must be an absolute path, as /etc/slurm/slurm.conf");
  }
  out->slurm.timeout =
      section.Key("timeout").Duration(out->slurm.timeout, absl::Seconds(1), absl::Minutes(2));
  out->slurm_name_label = section.Key("name_label").String();
  section.NoOtherKeys();
}

void ReadKubernetes(YamlValue section, const std::string& folder, ActionsConfig* out) {
  KubeClient::Options& kube = out->kubernetes;
  YamlValue url = section.Key("url");
  kube.url = std::string(absl::StripSuffix(url.String(kube.url), "/"));
  if (url.present()) url.Check(ParseHttpUrl(kube.url).status());
  kube.token_file = ReadPath(section.Key("token_file"), kube.token_file, folder);
  kube.ca_file = ReadPath(section.Key("ca_file"), kube.ca_file, folder);
  kube.timeout = section.Key("timeout").Duration(kube.timeout, absl::Seconds(1), absl::Minutes(2));
  out->kubernetes_name_label = section.Key("name_label").String();
  section.NoOtherKeys();
}

void ReadCommand(YamlValue& item, ActionRuleConfig* out) {
  YamlValue command =
      out->kind == v1::ACTION_KIND_COMMAND ? item.RequiredKey("command") : item.Key("command");
  YamlValue timeout = item.Key("timeout");
  YamlValue name_label = item.Key("name_label");
  if (out->kind != v1::ACTION_KIND_COMMAND) {
    for (YamlValue* value : {&command, &timeout, &name_label})
      if (value->present()) value->Fault("is for rules with `do: command` alone");
    return;
  }
  out->command.command = command.Strings();
  if (command.present() &&
      (out->command.command.empty() || !absl::StartsWith(out->command.command[0], "/"))) {
    command.Fault("must be a list that begins with the absolute path of a program");
  }
  out->command.timeout = timeout.Duration(out->command.timeout, absl::Seconds(1), absl::Minutes(5));
  out->command.name_label = name_label.String();
}

ActionRuleConfig ReadRule(YamlValue item) {
  ActionRuleConfig out;
  YamlValue name = item.RequiredKey("name");
  out.name = name.String();
  if (name.present()) name.Check(CheckBenchmarkName("rule", out.name));
  YamlValue kind = item.RequiredKey("do");
  std::vector<std::string> names;
  for (const auto& [known, value] : Kinds()) names.push_back(known);
  if (kind.present()) {
    const auto known = Kinds().find(kind.Choice(names.front(), names));
    if (known != Kinds().end()) out.kind = known->second;
  }
  out.match = item.Key("match").StringMap();
  ReadCommand(item, &out);
  item.NoOtherKeys();
  return out;
}

}  // namespace

ActionsConfig ReadActions(YamlValue section, const std::string& folder) {
  ActionsConfig out;
  out.enabled = section.Key("enabled").Bool(false);
  out.dry_run = section.Key("dry_run").Bool(true);
  out.limits = ReadLimits(section.Key("limits"));
  out.evidence = ReadEvidence(section.Key("evidence"));
  out.settle = section.Key("settle").Duration(absl::Minutes(10), absl::ZeroDuration(), kYear);
  out.recover_after = section.Key("recover_after").Duration(absl::Minutes(30), absl::ZeroDuration(), kYear);
  out.interval = section.Key("interval").Duration(absl::Seconds(15), absl::Seconds(1), absl::Hours(1));
  ReadSlurm(section.Key("slurm"), &out);
  ReadKubernetes(section.Key("kubernetes"), folder, &out);
  std::set<std::string> names;
  YamlValue rules = section.Key("rules");
  for (YamlValue& item : rules.Items()) {
    ActionRuleConfig rule = ReadRule(item);
    if (!names.insert(rule.name).second) {
      item.Fault(absl::StrCat("there is another rule '", rule.name, "'"));
    }
    out.rules.push_back(std::move(rule));
  }
  if (out.rules.size() > kMaxRules) rules.Fault("more than 32 rules");
  if (out.enabled && out.rules.empty()) section.Fault("enabled needs at least one rule under rules");
  section.NoOtherKeys();
  return out;
}

}  // namespace fleetmark::collector
