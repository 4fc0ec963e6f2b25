// What completion offers for a line, and that help and manual page leave nothing of the declaration out.
#include "cli/commandline/completion.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "cli/commandline/command_info.h"
#include "cli/commandline/completion_script.h"
#include "cli/commandline/help_page.h"
#include "cli/commandline/man_page.h"

namespace fleetmark::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

OptionInfo Option(std::vector<std::string> names, std::string value, std::string summary = "What it is") {
  OptionInfo option;
  option.names = std::move(names);
  option.value = std::move(value);
  option.summary = std::move(summary);
  return option;
}

// fleetmark [-o FORM] [--all] { run NODE BENCHMARK [--label ...] | alerts { show ALERT | list } | read [FILE]
// }
CommandInfo Program() {
  CommandInfo program{.name = "fleetmark", .summary = "Asks.", .needs_command = true};
  program.options = {Option({"-o", "--output"}, "table|json"), Option({"--all"}, "")};
  CommandInfo run{.name = "run", .summary = "Runs one"};
  run.arguments = {Option({"node"}, "NODE"), Option({"benchmark"}, "BENCHMARK")};
  run.arguments[0].required = true;
  run.options = {Option({"--label"}, "KEY=VALUE"), Option({"--dir"}, "FOLDER")};
  run.options[0].repeated = true;
  CommandInfo alerts{.name = "alerts", .summary = "Alerts"};
  alerts.commands = {{.name = "show", .summary = "One"}, {.name = "list", .summary = "All"}};
  alerts.commands[0].arguments = {Option({"alert"}, "ALERT")};
  CommandInfo read{.name = "read", .summary = "Reads", .details = "See:\n  read -\n.not a request"};
  read.arguments = {Option({"file"}, "FILE")};
  program.commands = {run, alerts, read};
  return program;
}

class CompletionTest : public testing::Test {
 protected:
  std::vector<std::string> Offered(const std::vector<std::string>& words) {
    completion_ = Complete(Program(), words, [this](const ValueRequest& request) {
      asked_ = request;
      return std::vector<Candidate>{{request.kind + "-1", ""}, {"other", ""}};
    });
    std::vector<std::string> values;
    for (const Candidate& candidate : completion_.candidates) values.push_back(candidate.value);
    return values;
  }

  Completion completion_;
  ValueRequest asked_;
};

TEST_F(CompletionTest, CommandsAndTheirCommands) {
  EXPECT_THAT(Offered({""}), ElementsAre("run", "alerts", "read"));
  EXPECT_THAT(Offered({"r"}), ElementsAre("run", "read"));
  EXPECT_THAT(Offered({"alerts", ""}), ElementsAre("show", "list"));
  EXPECT_THAT(Offered({}), ElementsAre("run", "alerts", "read"));
  EXPECT_THAT(Offered({"alerts", "list", ""}), IsEmpty());
}

TEST_F(CompletionTest, OptionsOfTheCommandFirstThenTheProgramsEachOnce) {
  EXPECT_THAT(Offered({"run", "-"}), ElementsAre("--label", "--dir", "--output", "--all"));
  EXPECT_THAT(Offered({"run", "-o", "json", "--label", "a=b", "--"}),
              ElementsAre("--label", "--dir", "--all"));
  EXPECT_THAT(Offered({"run", "--", "-"}), IsEmpty());
}

TEST_F(CompletionTest, ValuesByTheirKind) {
  EXPECT_THAT(Offered({"-o", ""}), ElementsAre("table", "json"));
  EXPECT_THAT(Offered({"run", "--output=j"}), ElementsAre("--output=json"));
  EXPECT_THAT(Offered({"run", "NODE"}), ElementsAre("NODE-1"));
  EXPECT_THAT(Offered({"run", "n7", ""}), ElementsAre("BENCHMARK-1", "other"));
  EXPECT_EQ(asked_.given.at("node"), "n7");
  EXPECT_THAT(Offered({"run", "n7", "b", ""}), IsEmpty());
  EXPECT_THAT(Offered({"alerts", "show", "A"}), ElementsAre("ALERT-1"));
}

TEST_F(CompletionTest, FilesAreTheShells) {
  EXPECT_THAT(Offered({"read", "x"}), IsEmpty());
  EXPECT_TRUE(completion_.files);
  EXPECT_EQ(AsLines(completion_), ":files\n");
  EXPECT_THAT(Offered({"run", "--dir", ""}), IsEmpty());
  EXPECT_TRUE(completion_.folders);
}

TEST_F(CompletionTest, ControlCharactersNeverReachAShell) {
  Completion hostile;
  hostile.candidates = {{"a\nb", ""}, {"good", "two\nlines"}};
  EXPECT_EQ(AsLines(hostile), "good\ttwo lines\n");
}

TEST(CompletionScript, IsThereForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(CompletionScript(shell).ok()) << shell;
  EXPECT_EQ(CompletionScript("csh").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Help, FitsIntoEightyColumnsAndNamesAll) {
  CommandInfo program = Program();
  program.commands[0].options[0].summary = std::string(30, 'w') + " " + std::string(200, 'x');
  const std::string help = CommandHelp("fleetmark run", program.commands[0]);
  EXPECT_THAT(help, HasSubstr("Usage: fleetmark run NODE [BENCHMARK] [OPTIONS]\n"));
  EXPECT_THAT(help, HasSubstr("  --label KEY=VALUE         www"));
  const std::string all = ProgramHelp(program);
  EXPECT_THAT(all, HasSubstr("  alerts        Alerts\n"));
  EXPECT_THAT(all, HasSubstr("  130   interrupted"));
}

TEST(ManPage, HasEachCommandAndNoAccidentalRequest) {
  const std::string page = ManPage(Program(), "1.2");
  EXPECT_THAT(page, HasSubstr(".TH FLEETMARK 1"));
  EXPECT_THAT(page, HasSubstr(".SS \"fleetmark alerts show [ALERT]\"\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fItable|json\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.not a request\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n\n")));
}

}  // namespace
}  // namespace fleetmark::cli
