#include "cli/commandline/man_page.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "cli/commandline/program_text.h"
#include "cli/output/exit_code.h"

namespace fleetmark::cli {
namespace {

// Text as roff prints it: nothing in it is a request or an escape, a minus stays a minus.
std::string Roff(std::string_view text) {
  std::string escaped = absl::StrReplaceAll(std::string(text), {{"\\", "\\e"}, {"-", "\\-"}, {"`", "\\(ga"}});
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

void AppendEntry(const std::string& name, const std::string& text, std::string* page) {
  absl::StrAppend(page, ".TP\n.B ", Roff(name), "\n", Roff(text), "\n");
}

void AppendOption(const OptionInfo& option, std::string* page) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(absl::StrCat("\\fB", Roff(name), "\\fR"));
  absl::StrAppend(page, ".TP\n", absl::StrJoin(names, ", "));
  if (!option.value.empty()) absl::StrAppend(page, " \\fI", Roff(option.value), "\\fR");
  absl::StrAppend(page, "\n", Roff(option.summary));
  if (!option.environment.empty()) {
    absl::StrAppend(page, ".\nThe environment variable \\fB", Roff(option.environment),
                    "\\fR stands for it.");
  }
  *page += "\n";
}

// Paragraphs; indented lines are examples.
void AppendParagraphs(std::string_view text, std::string* page) {
  bool example = false;
  const auto set_example = [&](bool is) {
    if (is != example) absl::StrAppend(page, is ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n");
    example = is;
  };
  const std::vector<std::string> lines = absl::StrSplit(std::string(text), '\n');
  for (const std::string& line : lines) {
    if (line.empty()) {
      if (!example) *page += ".PP\n";
      continue;
    }
    set_example(line[0] == ' ');
    absl::StrAppend(page, Roff(example ? line.substr(line.find_first_not_of(' ')) : line), "\n");
  }
  set_example(false);
}

void AppendCommand(const std::string& path, const CommandInfo& command, std::string* page) {
  if (!command.needs_command) {
    absl::StrAppend(page, ".SS \"", Roff(Synopsis(path, command)), "\"\n", Roff(command.summary), ".\n");
    for (const OptionInfo& argument : command.arguments) {
      AppendEntry(ArgumentText(argument), argument.summary, page);
    }
    for (const OptionInfo& option : command.options) AppendOption(option, page);
    if (!command.details.empty()) {
      *page += ".PP\n";
      AppendParagraphs(command.details, page);
    }
  }
  for (const CommandInfo& part : command.commands) {
    AppendCommand(absl::StrCat(path, " ", part.name), part, page);
  }
}

}  // namespace

std::string ManPage(const CommandInfo& program, const std::string& version) {
  const std::string& name = program.name;
  std::string page = absl::StrCat(".TH FLEETMARK 1 \"\" \"", name, " ", version, "\" \"User Commands\"\n");
  absl::StrAppend(&page, ".SH NAME\n", name, " \\- asks a collector how a fleet of machines is\n");
  absl::StrAppend(&page, ".SH SYNOPSIS\n.B ", name, "\n[OPTIONS] COMMAND [ARGUMENTS]\n");
  absl::StrAppend(&page, ".SH DESCRIPTION\n", Roff(program.summary), "\n");
  page += ".SH OPTIONS\nThese may stand before or after the command.\n";
  for (const OptionInfo& option : program.options) AppendOption(option, &page);
  page += ".SH COMMANDS\n";
  for (const CommandInfo& command : program.commands) {
    AppendCommand(absl::StrCat(name, " ", command.name), command, &page);
  }
  page += ".SH OUTPUT\n";
  AppendParagraphs(OutputText(), &page);
  page += ".SH EXIT STATUS\n";
  for (const ExitStatus& status : ExitStatuses()) {
    AppendEntry(absl::StrCat(static_cast<int>(status.code)), status.meaning, &page);
  }
  page += ".SH ENVIRONMENT\n";
  for (const NamedText& variable : EnvironmentVariables()) AppendEntry(variable.name, variable.text, &page);
  if (!Files().empty()) page += ".SH FILES\n";
  for (const NamedText& file : Files()) AppendEntry(file.name, file.text, &page);
  return page;
}

}  // namespace fleetmark::cli
