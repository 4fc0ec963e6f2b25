#include "agent/gate/gate_config.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"

namespace fleetmark::agent {
namespace {

constexpr char kDefaultConf[] = "/etc/slurm/slurm.conf";
constexpr char kDefaultSpoolDir[] = "/var/spool/slurmd";  // Slurm's own default
constexpr size_t kConfBytes = 4 << 20;

std::string ShortHostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string full = name;
  return full.substr(0, full.find('.'));
}

// SlurmdSpoolDir of slurm.conf, with its %n and %h filled in.
std::string SpoolDir(const std::string& conf, const std::string& node) {
  std::string found = kDefaultSpoolDir;
  const auto text = ReadFile(conf, kConfBytes);
  if (text.ok()) {
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
      const std::pair<absl::string_view, absl::string_view> setting =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (absl::AsciiStrToLower(absl::StripAsciiWhitespace(setting.first)) != "slurmdspooldir") continue;
      found = std::string(absl::StripAsciiWhitespace(setting.second));
    }
  }
  return absl::StrReplaceAll(found, {{"%n", node}, {"%h", ShortHostName()}});
}

void ReadSlurm(YamlValue slurm, GateConfig& config) {
  SlurmSource::Options& options = config.slurm_options;
  const char* conf = getenv("SLURM_CONF");
  options.conf = slurm.Key("conf").String(conf != nullptr ? conf : kDefaultConf);
  const char* node = getenv("SLURMD_NODENAME");
  options.node = slurm.Key("node").String(node != nullptr ? node : ShortHostName());
  options.spool_dir = slurm.Key("spool_dir").String(SpoolDir(options.conf, options.node));
  options.scontrol = slurm.Key("scontrol").String("scontrol");
  options.query_timeout =
      slurm.Key("query_timeout").Duration(absl::Seconds(5), absl::Milliseconds(100), absl::Minutes(1));
  options.allow_reserved = slurm.Key("allow_reserved").Bool(false);
  config.slurm = slurm.Key("enabled").Bool(access(options.conf.c_str(), F_OK) == 0);
  slurm.NoOtherKeys();
}

}  // namespace

GateConfig ReadGateSection(YamlValue gate) {
  GateConfig config;
  config.cool_down = gate.Key("cool_down").Duration(absl::Seconds(2), absl::ZeroDuration(), absl::Hours(1));
  config.retry_after = gate.Key("retry").Duration(absl::Seconds(30), absl::Seconds(1), absl::Hours(1));
  ReadSlurm(gate.Key("slurm"), config);
  gate.NoOtherKeys();
  return config;
}

std::vector<std::unique_ptr<GateSource>> MakeGateSources(const GateConfig& config, Runner& runner,
                                                         Clock& clock) {
  std::vector<std::unique_ptr<GateSource>> sources;
  if (config.slurm) sources.push_back(std::make_unique<SlurmSource>(config.slurm_options, runner, clock));
  return sources;
}

}  // namespace fleetmark::agent
