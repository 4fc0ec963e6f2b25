// What a command reads: a file, or standard input.
//
// Thread-safety: a function without state; standard input is one thread's. Errors: NotFound what can't be
// read.
#ifndef FLEETMARK_CLI_COMMANDS_INPUT_H_
#define FLEETMARK_CLI_COMMANDS_INPUT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace fleetmark::cli {

// All of the file, "-" standard input, or a byte more than `limit`: what is too long is for the reader to
// tell.
absl::StatusOr<std::string> ReadInput(const std::string& path, size_t limit);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_INPUT_H_
