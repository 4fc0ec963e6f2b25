// What the process's exit status says. Scripts depend on it: `fleetmark --help`, the manual page and
// docs/cli.md state it.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_OUTPUT_EXIT_CODE_H_
#define FLEETMARK_CLI_OUTPUT_EXIT_CODE_H_

#include <vector>

#include "absl/status/status.h"

namespace fleetmark::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitProblem = 1,
  kExitUsage = 2,
  kExitUnreachable = 3,
  kExitNotFound = 4,
  kExitRefused = 5,
  kExitInterrupted = 130,  // as shells report Ctrl-C
};

struct ExitStatus {
  ExitCode code;
  const char* meaning;
};

// Each with what it means, for people: help, manual page and docs/cli.md have no other.
const std::vector<ExitStatus>& ExitStatuses();

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_OUTPUT_EXIT_CODE_H_
