#include "cli/commandline/help_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "cli/commandline/program_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/text.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 2;
constexpr size_t kSummaryColumn = 28;

// "  --node NODE               Only of this node", the summary wrapped in its own column.
void AppendEntry(const std::string& name, const std::string& summary, std::string* page,
                 size_t summary_column = kSummaryColumn) {
  std::string line = std::string(kIndent, ' ') + name;
  if (DisplayWidth(line) + 2 > summary_column && !summary.empty()) {
    absl::StrAppend(page, line, "\n");
    line.clear();
  }
  for (const std::string& part : Wrapped(summary, kColumns - summary_column)) {
    line.append(summary_column - DisplayWidth(line), ' ');
    absl::StrAppend(page, line, part, "\n");
    line.clear();
  }
  if (summary.empty()) absl::StrAppend(page, line, "\n");
}

std::string OptionSummary(const OptionInfo& option) {
  std::string text = option.summary;
  if (!option.environment.empty()) absl::StrAppend(&text, " [", option.environment, "]");
  return text;
}

void AppendOptions(const char* title, const std::vector<OptionInfo>& options, std::string* page) {
  if (options.empty()) return;
  absl::StrAppend(page, "\n", title, ":\n");
  for (const OptionInfo& option : options) AppendEntry(OptionText(option), OptionSummary(option), page);
}

void AppendCommands(const std::vector<CommandInfo>& commands, std::string* page) {
  if (commands.empty()) return;
  absl::StrAppend(page, "\nCommands:\n");
  for (const CommandInfo& command : commands) AppendEntry(command.name, command.summary, page, 16);
}

// Indented lines are examples and stay as they are; others are wrapped.
void AppendDetails(const std::string& details, std::string* page) {
  if (details.empty()) return;
  *page += "\n";
  const std::vector<std::string> lines = absl::StrSplit(details, '\n');
  for (const std::string& line : lines) {
    if (line.empty() || line[0] == ' ') {
      absl::StrAppend(page, line, "\n");
      continue;
    }
    for (const std::string& part : Wrapped(line, kColumns)) absl::StrAppend(page, part, "\n");
  }
}

}  // namespace

std::string ProgramHelp(const CommandInfo& program) {
  std::string page;
  for (const std::string& part : Wrapped(program.summary, kColumns)) absl::StrAppend(&page, part, "\n");
  absl::StrAppend(&page, "\nUsage: ", program.name, " [OPTIONS] COMMAND\n");
  AppendCommands(program.commands, &page);
  AppendOptions("Options, before or after the command", program.options, &page);
  page += "\nExit status:\n";
  for (const ExitStatus& status : ExitStatuses()) {
    AppendEntry(absl::StrCat(static_cast<int>(status.code)), status.meaning, &page, 8);
  }
  page += "\nEnvironment:\n";
  for (const NamedText& variable : EnvironmentVariables()) AppendEntry(variable.name, variable.text, &page);
  absl::StrAppend(&page, "\n`", program.name, " COMMAND --help` tells of one command, `man ", program.name,
                  "` of all.\n");
  return page;
}

std::string CommandHelp(const std::string& path, const CommandInfo& command) {
  std::string page;
  for (const std::string& part : Wrapped(command.summary, kColumns)) absl::StrAppend(&page, part, "\n");
  absl::StrAppend(&page, "\nUsage: ", Synopsis(path, command), "\n");
  AppendCommands(command.commands, &page);
  if (!command.arguments.empty()) {
    page += "\nArguments:\n";
    for (const OptionInfo& argument : command.arguments) {
      AppendEntry(ArgumentText(argument), argument.summary, &page);
    }
  }
  AppendOptions("Options", command.options, &page);
  AppendDetails(command.details, &page);
  page += "\n`fleetmark --help` tells the options that every command takes.\n";
  return page;
}

}  // namespace fleetmark::cli
