#include "collector/action/command_executor.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/run/process_runner.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

// The real runner, and a program of the shell.
class CommandExecutorTest : public testing::Test {
 protected:
  ActionResult Step(const std::string& step, const std::string& script,
                    absl::Duration timeout = absl::Seconds(20)) {
    CommandExecutor executor({{"/bin/sh", "-c", script}, timeout, ""}, runner_, cancel_);
    v1::Action action;
    action.set_action_id("01M8V7S4YPFA55PFTTEFA7MGXG");
    action.set_node("n1");
    action.set_target("n1.there");
    action.set_reason("fleetmark 01: \"slow\" by 25 %");
    action.add_finding_ids("01F");
    if (step == "do") return executor.Do(action);
    return step == "check" ? executor.Check(action) : executor.Undo(action);
  }

  ProcessRunner runner_{{.launcher = FM_LAUNCHER}, RealClock()};
  CancelToken cancel_;
};

TEST_F(CommandExecutorTest, IsToldAllOnStandardInput) {
  const std::string print =
      "python3 -c 'import json, sys; c = json.load(sys.stdin); "
      "print(c[\"api\"], c[\"step\"], c[\"target\"], c[\"finding_ids\"][0], len(c[\"reason\"]))'";
  EXPECT_EQ(Step("do", print).text, "1 do n1.there 01F 28");
  EXPECT_EQ(Step("undo", print).text, "1 undo n1.there 01F 28");
}

TEST_F(CommandExecutorTest, AnswersByItsExitStatus) {
  EXPECT_EQ(Step("do", "exit 0").kind, ActionResult::kDone);
  const ActionResult left = Step("check", "echo Ann repairs it; exit 76");
  EXPECT_EQ(left.kind, ActionResult::kLeft);
  EXPECT_EQ(left.text, "Ann repairs it");
  EXPECT_EQ(Step("do", "exit 75").kind, ActionResult::kAgain);
  const ActionResult refused = Step("do", "echo no such node >&2; exit 1");
  EXPECT_EQ(refused.kind, ActionResult::kRefused);
  EXPECT_EQ(refused.text, "/bin/sh ended with 1: no such node");
  // What is held is not given up because of a broken program.
  EXPECT_EQ(Step("undo", "exit 1").kind, ActionResult::kAgain);
  EXPECT_EQ(Step("check", "exit 1").kind, ActionResult::kAgain);
}

TEST_F(CommandExecutorTest, ABrokenProgramIsBoundedAndTriedAgain) {
  const ActionResult slow = Step("do", "sleep 600", absl::Seconds(1));
  EXPECT_EQ(slow.kind, ActionResult::kAgain);
  EXPECT_THAT(slow.text, HasSubstr("did not end within 1s"));
  const ActionResult loud = Step("do", "while :; do echo yes; done");
  EXPECT_EQ(loud.kind, ActionResult::kAgain);
  EXPECT_THAT(loud.text, HasSubstr("printed too much"));
  EXPECT_EQ(Step("do", "kill -9 $$").kind, ActionResult::kAgain);
  cancel_.Cancel("stop");
  EXPECT_EQ(Step("do", "exit 0").kind, ActionResult::kAgain);
}

}  // namespace
}  // namespace fleetmark::collector
