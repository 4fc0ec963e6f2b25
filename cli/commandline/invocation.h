// What one command line asks for.
//
// Thread-safety: plain data.
#ifndef FLEETMARK_CLI_COMMANDLINE_INVOCATION_H_
#define FLEETMARK_CLI_COMMANDLINE_INVOCATION_H_

#include <functional>
#include <string>

#include "cli/commands/client.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"

namespace fleetmark::cli {

using SessionCommand = std::function<CommandResult(Session&)>;
using LocalCommand = std::function<CommandResult(const Output&)>;

struct Invocation {
  Client::Options client;
  std::string format = "table";
  bool no_color = false;
  double watch_seconds = 0;
  bool handles_signals = false;
  SessionCommand session_command;  // one of these two
  LocalCommand local_command;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_INVOCATION_H_
