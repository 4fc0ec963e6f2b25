// The scripts that bind the completion of a shell to the hidden command `__complete`, which answers as
// completion.h says. They know nothing of the commands, so that they need not be renewed with the program.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_COMPLETION_SCRIPT_H_
#define FLEETMARK_CLI_COMMANDLINE_COMPLETION_SCRIPT_H_

#include <string>

#include "absl/status/statusor.h"

namespace fleetmark::cli {

inline constexpr const char* kCompleteCommand = "__complete";

// For bash, zsh or fish; InvalidArgument for another.
absl::StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_COMPLETION_SCRIPT_H_
