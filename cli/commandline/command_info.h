// The command line as data: commands, their arguments, options and exit statuses. Help, manual page and
// completion are made from it, and it is made from the one declaration in cli/commandline.
//
// Thread-safety: plain data; functions without state.
#ifndef FLEETMARK_CLI_COMMANDLINE_COMMAND_INFO_H_
#define FLEETMARK_CLI_COMMANDLINE_COMMAND_INFO_H_

#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::cli {

// An option, or an argument that is known by its place.
struct OptionInfo {
  std::vector<std::string> names;  // "-o", "--output"; of an argument its one name
  // What its value is: "NODE", "DURATION", or the choices, "table|wide|json". Empty: a flag. Completion knows
  // the words of completion.h.
  std::string value;
  std::string summary;
  std::string environment;  // the variable that stands for it
  bool required = false;
  bool repeated = false;
};

struct CommandInfo {
  std::string name;
  std::string summary;
  std::string details;  // paragraphs and examples; may be empty
  std::vector<OptionInfo> arguments;
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;
  bool needs_command = false;  // does nothing by itself
};

// "fleetmark runs [RUN] [OPTIONS]", from the names of the command's parents and itself.
std::string Synopsis(const std::string& path, const CommandInfo& command);

// "NODE" for an argument that must be there, "[NODE]" for one that need not.
std::string ArgumentText(const OptionInfo& argument);

// "-o, --output table|wide", "--all".
std::string OptionText(const OptionInfo& option);

// "a|b|c" apart; empty where `value` is no list of choices.
std::vector<std::string> Choices(std::string_view value);

// The option of that name, "--node"; null: there is none.
const OptionInfo* FindOption(const std::vector<OptionInfo>& options, std::string_view name);

// The command of that name; null: there is none.
const CommandInfo* FindCommand(const std::vector<CommandInfo>& commands, std::string_view name);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDLINE_COMMAND_INFO_H_
