// What the process's exit status says. Scripts depend on it: `fleetmark --help` and docs/cli.md state it.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_EXIT_CODE_H_
#define FLEETMARK_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace fleetmark::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitProblem = 1,      // the command worked and found a problem: a run failed, a plugin is wrong
  kExitUsage = 2,        // the command line, or what it names, is wrong
  kExitUnreachable = 3,  // the collector can't be reached, or went away
  kExitNotFound = 4,
  kExitRefused = 5,        // the collector or the node answered that it won't
  kExitInterrupted = 130,  // Ctrl-C, as shells report it
};

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_EXIT_CODE_H_
