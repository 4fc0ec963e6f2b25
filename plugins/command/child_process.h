// Runs a program to its end and keeps what it prints.
//
// Thread-safety: call from one thread; blocks SIGCHLD in it. What the program prints also goes to this
// process's standard error as it comes, so that it is in the log of a run that is stopped.
#ifndef FLEETMARK_PLUGINS_COMMAND_CHILD_PROCESS_H_
#define FLEETMARK_PLUGINS_COMMAND_CHILD_PROCESS_H_

#include <map>
#include <string>
#include <vector>

namespace fleetmark::command {

struct ChildOptions {
  std::vector<std::string> command;  // not empty; a program without '/' is looked for in PATH
  std::string standard_input;
  std::map<std::string, std::string> environment;  // added to this process's
  size_t max_output_bytes = size_t{16} << 20;      // of each stream; a program that prints more is killed
};

struct ChildResult {
  int start_error = 0;  // errno, if the program could not be started; the rest is then empty
  bool too_much_output = false;
  int exit_status = 0;  // 128 + the signal's number if a signal ended it, as shells say
  std::string standard_output;
  std::string standard_error;
  std::string both;  // in the order in which it came, as far as two pipes can tell
};

// Returns when the program has ended; what it left running is not waited for.
ChildResult RunChild(const ChildOptions& options);

}  // namespace fleetmark::command

#endif  // FLEETMARK_PLUGINS_COMMAND_CHILD_PROCESS_H_
