#include "collector/action/action_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

TEST(ActionTextTest, TheReasonNamesActionProblemAndFinding) {
  v1::Alert alert;
  alert.set_title("n7: stream triad 12.0 % lower, 200 to 176 GB/s");
  alert.mutable_main()->set_finding_id("01JFINDING");
  v1::Action action;
  NameAction(alert, absl::FromUnixSeconds(1'790'000'000), &action);
  EXPECT_EQ(action.action_id().size(), 26u);
  EXPECT_EQ(action.reason(), "fleetmark " + action.action_id() +
                                 ": n7: stream triad 12.0 % lower 200 to 176 GB/s; finding 01JFINDING");
}

TEST(ActionTextTest, HoldsNothingThatSlurmOrAShellWouldTakeForItsOwn) {
  EXPECT_EQ(PlainText("a [root@2026] b=c; `rm` $(x)\n\tµ \"q\" 'r' \\ |", 100), "a root 2026 b c rm (x) q r");
  EXPECT_EQ(PlainText("", 10), "");
  EXPECT_EQ(PlainText("  ,, ", 10), "");
  EXPECT_EQ(PlainText("abc def", 4), "abc");
}

}  // namespace
}  // namespace fleetmark::collector
