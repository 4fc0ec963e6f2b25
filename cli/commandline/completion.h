// What may stand next on a command line that is being written: commands, options, choices, and names that a
// source of values knows. The three shells ask for it through a hidden command (completion_script.h).
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_COMPLETION_H_
#define FLEETMARK_CLI_COMMANDLINE_COMPLETION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/commandline/command_info.h"

namespace fleetmark::cli {

struct Candidate {
  std::string value;
  std::string summary;
};

// A name that only the collector, or a file, knows. `kind` is an OptionInfo's value: NODE, BENCHMARK, METRIC,
// SUITE, SERIES, RUN, FINDING, ALERT, SILENCE, CONTEXT, READER. `given` has the options and arguments that
// stand already, by their names without dashes.
struct ValueRequest {
  std::string kind;
  std::map<std::string, std::string> given;
};
using ValueSource = std::function<std::vector<Candidate>(const ValueRequest&)>;

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;    // the shell completes a file's name
  bool folders = false;  // the same of a folder
};

// `words` are those after the program's name; the last, which may be empty, is being written.
Completion Complete(const CommandInfo& program, const std::vector<std::string>& words,
                    const ValueSource& values);

// A candidate a line, value and summary apart by a tab; ":files" and ":folders" ask the shell.
std::string AsLines(const Completion& completion);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_COMPLETION_H_
