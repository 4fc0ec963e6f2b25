// What `fleetmark --help` and `fleetmark COMMAND --help` print: at most 80 columns, plain text.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_HELP_PAGE_H_
#define FLEETMARK_CLI_COMMANDLINE_HELP_PAGE_H_

#include <string>

#include "cli/commandline/command_info.h"

namespace fleetmark::cli {

// Of the program: its commands, the options that every command takes, exit statuses, variables.
std::string ProgramHelp(const CommandInfo& program);

// Of one command; `path` is how it is called, "fleetmark alerts show".
std::string CommandHelp(const std::string& path, const CommandInfo& command);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_HELP_PAGE_H_
