#include "cli/commandline/command_info.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace fleetmark::cli {

std::string ArgumentText(const OptionInfo& argument) {
  const std::string name = absl::AsciiStrToUpper(argument.names.empty() ? "" : argument.names[0]);
  const std::string text = argument.repeated ? name + "..." : name;
  return argument.required ? text : absl::StrCat("[", text, "]");
}

std::string OptionText(const OptionInfo& option) {
  const std::string names = absl::StrJoin(option.names, ", ");
  return option.value.empty() ? names : absl::StrCat(names, " ", option.value);
}

std::string Synopsis(const std::string& path, const CommandInfo& command) {
  std::string text = path;
  for (const OptionInfo& argument : command.arguments) absl::StrAppend(&text, " ", ArgumentText(argument));
  for (const OptionInfo& option : command.options) {
    if (option.required) absl::StrAppend(&text, " ", option.names.back(), " ", option.value);
  }
  const bool optional = std::any_of(command.options.begin(), command.options.end(),
                                    [](const OptionInfo& o) { return !o.required; });
  if (optional) text += " [OPTIONS]";
  if (!command.commands.empty()) text += command.needs_command ? " COMMAND" : " [COMMAND]";
  return text;
}

std::vector<std::string> Choices(std::string_view value) {
  std::vector<std::string> choices = absl::StrSplit(std::string(value), '|', absl::SkipEmpty());
  if (choices.size() < 2) choices.clear();
  return choices;
}

const OptionInfo* FindOption(const std::vector<OptionInfo>& options, std::string_view name) {
  for (const OptionInfo& option : options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  }
  return nullptr;
}

const CommandInfo* FindCommand(const std::vector<CommandInfo>& commands, std::string_view name) {
  for (const CommandInfo& command : commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace fleetmark::cli
