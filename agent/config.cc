#include "agent/config.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/config/yaml_reader.h"
#include "common/daemon/config_sections.h"
#include "common/daemon/suite_file.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFactFiles = 16;

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

void ReadNode(YamlValue node, AgentConfig& config) {
  YamlValue name = node.Key("name");
  config.node_name = name.String(HostName());
  if (config.node_name.empty()) config.node_name = HostName();
  name.Check(CheckNodeName(config.node_name));
  YamlValue labels = node.Key("labels");
  config.node_labels = labels.StringMap();
  labels.Check(CheckNodeLabels(config.node_labels));
  node.NoOtherKeys();
}

void ReadCollectors(YamlValue list, AgentConfig& config) {
  config.collectors.clear();
  for (YamlValue& item : list.Items()) {
    const HostPort address = ReadHostPort(item, "");
    config.collectors.push_back(address.ToString());
    if (config.tls.enabled() || config.allow_plaintext || IsLoopback(address.host)) continue;
    item.Fault(
        "is not on this machine, and no tls is configured: results would travel in plain text. Set tls, or "
        "allow_plaintext: true if the network is trusted");
  }
  if (list.present() && config.collectors.empty()) list.Fault("names no collector");
}

// "50%" of the machine, or a size.
int64_t ReadMemoryMax(YamlValue value) {
  constexpr int kDefaultPercent = 50;
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::string text = value.String(absl::StrCat(kDefaultPercent, "%"));
  if (text.empty() || text.back() != '%') return value.Bytes(0, 16 << 20);
  text.pop_back();
  int percent = 0;
  if (!absl::SimpleAtoi(text, &percent) || percent < 1 || percent > 100) {
    value.Fault("is no share of the machine's memory: from 1% to 100%");
  }
  return machine / 100 * percent;
}

IoClass ReadIoClass(YamlValue value) {
  const std::string name = value.Choice("best-effort", {"best-effort", "idle", "inherit"});
  if (name == "idle") return IoClass::kIdle;
  return name == "inherit" ? IoClass::kInherit : IoClass::kBestEffort;
}

void ReadRunBounds(YamlValue plugins, AgentConfig& config) {
  config.nice = static_cast<int>(plugins.Key("nice").Int(0, -20, 19));
  config.io_class = ReadIoClass(plugins.Key("io_class"));
  config.run_bounds.memory_bytes = ReadMemoryMax(plugins.Key("memory_max"));
  config.run_bounds.processes = plugins.Key("max_processes").Int(4096, 16, 4 << 20);
  config.run_bounds.open_files = plugins.Key("max_open_files").Int(65536, 64, 1 << 20);
  config.run_bounds.work_dir_bytes =
      plugins.Key("work_dir_max_bytes").Bytes(int64_t{1} << 30, 1 << 20, int64_t{1} << 50);
  YamlValue cgroup = plugins.Key("cgroup");
  config.plugin_cgroup = cgroup.String("auto");
  if (config.plugin_cgroup != "auto" && config.plugin_cgroup != "none" &&
      (!absl::StartsWith(config.plugin_cgroup, "/") || absl::StrContains(config.plugin_cgroup, ".."))) {
    cgroup.Fault("must be auto, none, or a cgroup's path such as /fleetmark.slice");
  }
}

void ReadPlugins(YamlValue root, const std::string& folder, AgentConfig& config) {
  YamlValue paths = root.RequiredKey("plugin_paths");
  for (YamlValue& item : paths.Items()) config.plugin_paths.push_back(ReadPath(item, "", folder));
  YamlValue plugins = root.Key("plugins");
  config.allow_root_plugins = plugins.Key("allow_root").Bool(false);
  config.plugin_user = plugins.Key("user").String();
  ReadRunBounds(plugins, config);
  plugins.NoOtherKeys();
}

void ReadSpool(YamlValue spool, AgentConfig& config) {
  config.spool_max_bytes = spool.Key("max_bytes").Bytes(256 << 20, 1 << 20, int64_t{1} << 40);
  config.spool_max_age = spool.Key("max_age").Duration(absl::Hours(24 * 30), absl::Minutes(1));
  spool.NoOtherKeys();
}

void ReadBudget(YamlValue budget, AgentConfig& config) {
  config.budget_share = budget.Key("share").Double(0.005, 0.0001, 1);
  budget.NoOtherKeys();
}

void ReadPlan(YamlValue plan, AgentConfig& config) {
  config.plan_accept = plan.Key("accept").Bool(true);
  for (const std::string& plugin : plan.Key("allow_plugins").Strings()) config.plan_plugins.insert(plugin);
  plan.NoOtherKeys();
}

// A suite that is for other nodes is read for its faults alone.
absl::Status Include(YamlValue item, const std::string& folder, AgentConfig& config) {
  FM_ASSIGN_OR_RETURN(Suite suite, LoadSuite(ReadPath(item, "", folder)));
  if (!suite.Selects(config.node_name, config.node_labels)) return absl::OkStatus();
  AddBenchmarks(item, std::move(suite.benchmarks), config.benchmarks);
  return absl::OkStatus();
}

void ReadFacts(YamlValue facts, const std::string& folder, AgentConfig& config) {
  config.facts_interval =
      facts.Key("interval").Duration(absl::Hours(1), absl::Minutes(1), absl::Hours(24 * 7));
  config.facts_gpus = facts.Key("gpus").Bool(true);
  YamlValue files = facts.Key("files");
  for (YamlValue& item : files.Items()) {
    FactFileConfig file;
    file.path = ReadPath(item.RequiredKey("path"), "", folder);
    YamlValue prefix = item.RequiredKey("prefix");
    file.prefix = prefix.String();
    if (prefix.present()) prefix.Check(CheckIdentifier("prefix", file.prefix));
    item.NoOtherKeys();
    config.fact_files.push_back(std::move(file));
  }
  if (config.fact_files.size() > kMaxFactFiles) files.Fault(absl::StrCat("has more than ", kMaxFactFiles));
  facts.NoOtherKeys();
}

}  // namespace

absl::StatusOr<AgentConfig> ParseAgentConfig(std::string_view text, const std::string& origin,
                                             const std::string& folder) {
  YamlReader reader(text, origin);
  YamlValue root = reader.root();
  AgentConfig config;
  ReadNode(root.Key("node"), config);
  config.tls = ReadTlsSection(root.Key("tls"), folder);
  config.allow_plaintext = root.Key("allow_plaintext").Bool(false);
  ReadCollectors(root.RequiredKey("collectors"), config);
  ReadPlugins(root, folder, config);
  config.data_dir = ReadPath(root.RequiredKey("data_dir"), "", folder);
  YamlValue http = root.Key("http");
  config.http = ReadHostPort(http.Key("listen"), "");
  http.NoOtherKeys();
  YamlValue health = root.Key("health");
  config.health = ReadHostPort(health.Key("grpc_listen"), "");
  health.NoOtherKeys();
  config.log = ReadLogSection(root.Key("log"));
  ReadSpool(root.Key("spool"), config);
  ReadBudget(root.Key("budget"), config);
  ReadFacts(root.Key("facts"), folder, config);
  ReadPlan(root.Key("plan"), config);
  config.gate = ReadGateSection(root.Key("gate"), folder);
  config.stop_timeout =
      root.Key("stop_timeout").Duration(absl::Seconds(10), absl::Seconds(1), absl::Minutes(10));
  ReadBenchmarks(root.Key("benchmarks"), "", config.benchmarks);

  absl::Status suites;
  for (YamlValue& item : root.Key("include").Items()) {
    suites = AllFaults(suites, Include(item, folder, config));
  }
  root.NoOtherKeys();
  FM_RETURN_IF_ERROR(AllFaults(reader.status(), suites));
  return config;
}

absl::StatusOr<AgentConfig> LoadAgentConfig(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kConfigFileBytes));
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return ParseAgentConfig(text, path, folder.string());
}

}  // namespace fleetmark::agent
