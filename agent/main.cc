// fleetmark-agent: runs benchmarks on its node when they are due and brings the results to a collector.
#include <cstdio>

#include "agent/agent.h"
#include "agent/benchmark_set.h"
#include "agent/commands.h"
#include "agent/config.h"
#include "agent/footprint.h"
#include "common/base/status.h"
#include "common/daemon/program.h"
#include "common/obs/log.h"
#include "common/plugin/catalog.h"

namespace {

using fleetmark::Catalog;
using fleetmark::agent::AgentConfig;
using fleetmark::agent::BenchmarkSet;

absl::StatusOr<std::shared_ptr<const BenchmarkSet>> LoadBenchmarks(const AgentConfig& config) {
  const auto catalog = Catalog::Load(config.plugin_paths);
  for (const std::string& note : catalog->notes()) fleetmark::LogWarn("plugin folder", {{"note", note}});
  for (const auto& broken : catalog->broken()) {
    fleetmark::LogDebug("plugin can't be used", {{"plugin", broken.name}, {"problem", broken.problem}});
  }
  return BenchmarkSet::Prepare(config, catalog);
}

void Reload(const std::string& path, fleetmark::agent::Agent& agent) {
  const auto config = fleetmark::agent::LoadAgentConfig(path);
  const auto benchmarks = config.ok() ? LoadBenchmarks(*config) : config.status();
  if (!benchmarks.ok()) {
    fleetmark::LogError("configuration is faulty; nothing was changed", {{"fault", benchmarks.status()}});
    return;
  }
  agent.Reload(*benchmarks);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fleetmark;
  agent::QuietGrpc();
  const DaemonFlags flags = ParseDaemonFlags(
      argc, argv,
      "Runs benchmarks on this node and sends the results. Commands: health, plan, run BENCHMARK [epilog], "
      "join ADDRESS [TOKEN_FILE].",
      "/etc/fleetmark/agent.yaml");
  const absl::StatusOr<bool> is_command = agent::IsCommand(flags.arguments);
  if (!is_command.ok()) return Fail(is_command.status(), kExitUsage);
  const bool is_join = *is_command && flags.arguments.front() == "join";
  auto config = agent::LoadAgentConfig(flags.config, is_join ? TlsFilesAre::kToCome : TlsFilesAre::kThere);
  if (!config.ok()) return Fail(config.status(), kExitConfig);
  // Asked often, and needs nothing but the data folder: not the plugins.
  if (is_join || (*is_command && flags.arguments.front() == "health")) {
    return agent::RunCommand(flags.arguments, *config, nullptr);
  }
  if (!flags.log_level.empty())
    ParseLogLevel(flags.log_level, &config->log.level).IgnoreError();  // checked above
  InitLog(config->log);
  const auto benchmarks = LoadBenchmarks(*config);
  if (!benchmarks.ok()) return Fail(benchmarks.status(), kExitConfig);
  if (flags.check_config) {
    printf("%s is good\n", flags.config.c_str());
    return kExitOk;
  }
  if (*is_command) return agent::RunCommand(flags.arguments, *config, *benchmarks);
  BlockDaemonSignals();

  agent::Agent agent(*config, *benchmarks);
  if (const absl::Status status = agent.OpenData(); !status.ok()) return Fail(status, kExitData);
  if (const absl::Status status = agent.Serve(); !status.ok()) return Fail(status, kExitAddress);
  ServeUntilStopped([&] { Reload(flags.config, agent); }, [] { return true; });
  agent.Stop();
  LogInfo("stopped");
  return kExitOk;
}
