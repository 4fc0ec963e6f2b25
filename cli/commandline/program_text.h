// What help and manual page say beside the commands.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_PROGRAM_TEXT_H_
#define FLEETMARK_CLI_COMMANDLINE_PROGRAM_TEXT_H_

#include <vector>

namespace fleetmark::cli {

struct NamedText {
  const char* name;
  const char* text;
};

// Those that stand for no option.
const std::vector<NamedText>& EnvironmentVariables();

// The forms of output, and what goes where.
const char* OutputText();

const std::vector<NamedText>& Files();

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_PROGRAM_TEXT_H_
