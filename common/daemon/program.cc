#include "common/daemon/program.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/clock.h"
#include "common/base/sd_notify.h"
#include "common/base/signals.h"
#include "common/base/status.h"
#include "common/obs/log.h"

ABSL_FLAG(std::string, config, "", "the configuration file");
ABSL_FLAG(bool, check_config, false, "check the configuration, print every fault, and end");
ABSL_FLAG(std::string, log_level, "", "debug, info, warn or error; overrides the configuration");

namespace fleetmark {
namespace {

std::string g_program = "fleetmark";  // set once, before any thread starts

// The watchdog is fed at a third of the interval that it allows.
absl::Duration WatchdogPeriod() { return SdWatchdogInterval() / 3; }

}  // namespace

DaemonFlags ParseDaemonFlags(int argc, char** argv, const std::string& summary,
                             const std::string& default_config) {
  const std::string path = argv[0];
  g_program = path.substr(path.rfind('/') + 1);
  absl::SetProgramUsageMessage(absl::StrCat(summary, "\n\n  ", g_program, " [--config FILE]"));
  absl::FlagsUsageConfig usage;
  usage.version_string = [] { return absl::StrCat(g_program, " " FM_VERSION "\n"); };
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::StrContains(file, "daemon/program.cc") || absl::StrContains(file, "agent/commands.cc") ||
           absl::StrContains(file, "collector/store_commands.cc") ||
           absl::StrContains(file, "collector/access/token_commands.cc");
  };
  usage.contains_helpshort_flags = usage.contains_help_flags;
  absl::SetFlagsUsageConfig(usage);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);

  DaemonFlags flags;
  flags.config = absl::GetFlag(FLAGS_config);
  if (flags.config.empty()) flags.config = default_config;
  flags.check_config = absl::GetFlag(FLAGS_check_config);
  flags.log_level = absl::GetFlag(FLAGS_log_level);
  flags.arguments.assign(rest.begin() + 1, rest.end());
  LogLevel ignored;
  if (!flags.log_level.empty()) {
    if (const absl::Status status = ParseLogLevel(flags.log_level, &ignored); !status.ok()) {
      exit(Fail(status, kExitUsage));
    }
  }
  return flags;
}

int Fail(const absl::Status& status, int exit_status) {
  for (absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    fprintf(stderr, "%s: %.*s\n", g_program.c_str(), static_cast<int>(line.size()), line.data());
  }
  return exit_status;
}

void BlockDaemonSignals() { BlockSignals({SIGTERM, SIGINT, SIGHUP}); }

void ServeUntilStopped(const std::function<void()>& reload, const std::function<bool()>& alive) {
  SdNotify("READY=1");
  while (true) {
    const int got = WaitForSignal({SIGTERM, SIGINT, SIGHUP}, WatchdogPeriod());
    if (got == 0) {
      if (alive()) SdNotify("WATCHDOG=1");
      continue;
    }
    if (got != SIGHUP) {
      LogInfo("stopping", {{"signal", got == SIGTERM ? "SIGTERM" : "SIGINT"}});
      SdNotify("STOPPING=1");
      return;
    }
    const auto usec = absl::ToInt64Microseconds(RealClock().Mono().since_boot());
    SdNotify(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", usec));
    reload();
    SdNotify("READY=1");
  }
}

}  // namespace fleetmark
