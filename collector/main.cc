// fleetmark-collector: takes the results of all agents in, stores them, finds what got slower, shows it.
#include <malloc.h>

#include <cstdio>
#include <string>

#include "collector/access/token_commands.h"
#include "collector/collector.h"
#include "collector/config.h"
#include "collector/join/ca_commands.h"
#include "collector/store_commands.h"
#include "common/base/status.h"
#include "common/daemon/program.h"
#include "common/obs/log.h"

int main(int argc, char** argv) {
  using namespace fleetmark;
  using collector::Collector;
  const DaemonFlags flags = ParseDaemonFlags(argc, argv, "Collects benchmark results and finds regressions.",
                                             "/etc/fleetmark/collector.yaml");
  const std::string command = flags.arguments.empty() ? "" : flags.arguments.front();
  const bool is_ca = command == "ca";
  auto config = collector::LoadCollectorConfig(
      flags.config, is_ca || command == "token" ? TlsFilesAre::kToCome : TlsFilesAre::kThere);
  if (!config.ok()) return Fail(config.status(), kExitConfig);
  if (is_ca) {
    return collector::RunCaCommand({flags.arguments.begin() + 1, flags.arguments.end()},
                                   collector::ToAuthorityOptions(*config), config->data_dir);
  }
  if (command == "token") {
    return collector::RunTokenCommand({flags.arguments.begin() + 1, flags.arguments.end()},
                                      {config->data_dir, config->people.token_folder, config->people.asked});
  }
  if (!flags.arguments.empty()) return collector::RunStoreCommand(flags.arguments, *config);
  if (flags.check_config) {
    printf("%s is good\n", flags.config.c_str());
    return kExitOk;
  }
  if (!flags.log_level.empty())
    ParseLogLevel(flags.log_level, &config->log.level).IgnoreError();  // checked above
  InitLog(config->log);
  BlockDaemonSignals();
  // Batches of records come and go by the megabyte: given back to the kernel each time, they cost a seventh
  // of ingest's CPU in page faults.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);

  Collector collector(*config);
  if (const absl::Status status = collector.OpenStore(); !status.ok()) return Fail(status, kExitData);
  if (const absl::Status status = collector.Serve(); !status.ok()) {
    // What is not found is the page's folder, which the configuration names.
    return Fail(status, absl::IsNotFound(status) ? kExitConfig : kExitAddress);
  }
  ServeUntilStopped(
      [&flags, &collector] {
        const auto changed = collector::LoadCollectorConfig(flags.config);
        if (!changed.ok()) {
          LogError("configuration is faulty; nothing was changed", {{"fault", changed.status()}});
          return;
        }
        collector.Reload(*changed);
        LogInfo("suites are applied; what else changed needs a restart", {{"file", flags.config}});
      },
      [&collector] { return collector.Healthy(); });
  collector.Stop();
  LogInfo("stopped");
  return kExitOk;
}
