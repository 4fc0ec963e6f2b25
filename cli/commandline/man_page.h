// The manual page, fleetmark(1), of the whole command line, in roff with the man macros.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_MAN_PAGE_H_
#define FLEETMARK_CLI_COMMANDLINE_MAN_PAGE_H_

#include <string>

#include "cli/commandline/command_info.h"

namespace fleetmark::cli {

std::string ManPage(const CommandInfo& program, const std::string& version);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_MAN_PAGE_H_
