// The one declaration of the command line: commands, their arguments and options. It reads the arguments
// into an Invocation, and describes itself for help, manual page and completion.
//
// Thread-safety: none; main's. Ownership: owns the Invocation that it fills.
#ifndef FLEETMARK_CLI_COMMANDLINE_COMMAND_LINE_H_
#define FLEETMARK_CLI_COMMANDLINE_COMMAND_LINE_H_

#include <memory>
#include <string>

#include "cli/commandline/command_info.h"
#include "cli/commandline/invocation.h"

namespace fleetmark::cli {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  // What came of the arguments: a command to run, a text to print (--help, --version), or a fault in words
  // that follow "fleetmark: ".
  struct Reading {
    enum class Kind { kCommand, kText, kFault };
    Kind kind = Kind::kCommand;
    std::string text;
  };
  Reading Read(int argc, char** argv);

  // Complete after a Read that gave a command.
  const Invocation& invocation() const;

  CommandInfo Describe() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_COMMAND_LINE_H_
