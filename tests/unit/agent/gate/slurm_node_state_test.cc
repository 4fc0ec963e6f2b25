#include "agent/gate/slurm_node_state.h"

#include <string>

#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

using State = GateAnswer::State;

struct Case {
  const char* state;
  State verdict;
};

class SlurmStateTest : public ::testing::TestWithParam<Case> {};

TEST_P(SlurmStateTest, Verdict) {
  const GateAnswer answer = JudgeSlurmState(GetParam().state);
  EXPECT_EQ(answer.state, GetParam().verdict) << GetParam().state << ": " << answer.reason;
  if (!answer.free()) {
    EXPECT_NE(answer.reason.find(GetParam().state), std::string::npos) << answer.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(
    States, SlurmStateTest,
    ::testing::Values(
        // Nobody's job runs, none can start unannounced.
        Case{"IDLE", State::kFree}, Case{"idle", State::kFree}, Case{"IDLE+DRAIN", State::kFree},
        Case{"drained", State::kFree}, Case{"drain", State::kFree},
        Case{"IDLE+MAINTENANCE+RESERVED", State::kFree}, Case{"MAINTENANCE+RESERVED", State::kFree},
        Case{"maint", State::kFree}, Case{"idle$", State::kFree}, Case{"IDLE+CLOUD", State::kFree},
        Case{"IDLE+DYNAMIC_NORM", State::kFree}, Case{"IDLE+MAINTENANCE+DRAIN", State::kFree},
        // Users.
        Case{"ALLOCATED", State::kBusy}, Case{"alloc", State::kBusy}, Case{"MIXED", State::kBusy},
        Case{"mix", State::kBusy}, Case{"MIXED+PLANNED", State::kBusy}, Case{"IDLE+PLANNED", State::kBusy},
        Case{"idle-", State::kBusy}, Case{"plnd", State::kBusy}, Case{"MIXED+DRAIN", State::kBusy},
        Case{"ALLOCATED+DRAIN", State::kBusy}, Case{"drng", State::kBusy}, Case{"draining", State::kBusy},
        Case{"IDLE+COMPLETING", State::kBusy}, Case{"comp", State::kBusy},
        Case{"IDLE+COMPLETING+DRAIN", State::kBusy}, Case{"IDLE+RESERVED", State::kBusy},
        Case{"resv", State::kBusy}, Case{"ALLOCATED+RESERVED", State::kBusy},
        Case{"ALLOCATED+MAINTENANCE", State::kBusy}, Case{"failg", State::kBusy},
        // Slurm itself does not know.
        Case{"DOWN", State::kUnknown}, Case{"DOWN+NOT_RESPONDING", State::kUnknown},
        Case{"DOWN+DRAIN", State::kUnknown}, Case{"idle*", State::kUnknown}, Case{"drain*", State::kUnknown},
        Case{"idle~", State::kUnknown}, Case{"idle#", State::kUnknown}, Case{"idle%", State::kUnknown},
        Case{"idle!", State::kUnknown}, Case{"IDLE+POWERED_DOWN", State::kUnknown},
        Case{"IDLE+CLOUD+POWERING_UP", State::kUnknown}, Case{"IDLE+REBOOT_ISSUED", State::kUnknown},
        Case{"idle@", State::kUnknown}, Case{"boot^", State::kUnknown}, Case{"FUTURE", State::kUnknown},
        Case{"UNKNOWN", State::kUnknown}, Case{"IDLE+INVALID_REG", State::kUnknown},
        Case{"fail", State::kUnknown}, Case{"IDLE+SOMETHING_NEW", State::kUnknown},
        Case{"HALF_ASLEEP", State::kUnknown}, Case{"", State::kUnknown}, Case{"+", State::kUnknown},
        Case{"*", State::kUnknown}));

TEST(SlurmStateTest, AJobsOwnEpilogDoesNotKeepItsRunOff) {
  EXPECT_TRUE(JudgeSlurmState("IDLE+COMPLETING", {.in_epilog = true}).free());
  EXPECT_FALSE(JudgeSlurmState("MIXED+COMPLETING", {.in_epilog = true}).free()) << "another job runs";
}

TEST(SlurmStateTest, ReservedNodesOnDemand) {
  EXPECT_TRUE(JudgeSlurmState("IDLE+RESERVED", {.allow_reserved = true}).free());
  EXPECT_FALSE(JudgeSlurmState("ALLOCATED+RESERVED", {.allow_reserved = true}).free());
}

TEST(ScontrolFieldTest, FindsTheFieldAndNoOther) {
  const char line[] = "NodeName=n1 Arch=x86_64 NextState=A State=IDLE+DRAIN ThreadsPerCore=1 Reason=State=x";
  EXPECT_EQ(ScontrolField(line, "State"), "IDLE+DRAIN");
  EXPECT_EQ(ScontrolField(line, "NodeName"), "n1");
  EXPECT_EQ(ScontrolField(line, "Name"), "");
  EXPECT_EQ(ScontrolField("State=", "State"), "");
}

}  // namespace
}  // namespace fleetmark::agent
