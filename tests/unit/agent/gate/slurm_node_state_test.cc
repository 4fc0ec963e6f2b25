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

const Case kCases[] = {
    {"IDLE", State::kFree},
    {"idle", State::kFree},
    {" IDLE ", State::kFree},
    {"IDLE+CLOUD", State::kFree},
    {"IDLE+DYNAMIC_NORM", State::kFree},
    {"IDLE+DRAIN", State::kFree},
    {"DRAINED", State::kFree},
    {"drained", State::kFree},
    {"IDLE+DRAIN+RESERVED", State::kFree},
    {"IDLE+DRAIN+PLANNED", State::kFree},
    {"IDLE+MAINTENANCE", State::kFree},
    {"IDLE+MAINTENANCE+RESERVED", State::kFree},
    {"MAINTENANCE+RESERVED", State::kFree},
    {"maint", State::kFree},
    {"idle$", State::kFree},
    {"resv$", State::kFree},
    {"idle+", State::kFree},
    {"ALLOCATED", State::kBusy},
    {"alloc", State::kBusy},
    {"MIXED", State::kBusy},
    {"mix-", State::kBusy},
    {"MIXED+PLANNED", State::kBusy},
    {"MIXED+DRAIN", State::kBusy},
    {"ALLOCATED+DRAIN", State::kBusy},
    {"DRAINING", State::kBusy},
    {"drng", State::kBusy},
    {"ALLOCATED+MAINTENANCE+RESERVED", State::kBusy},
    {"alloc$", State::kBusy},
    {"IDLE+COMPLETING", State::kBusy},
    {"IDLE+COMPLETING+DRAIN", State::kBusy},
    {"comp", State::kBusy},
    {"IDLE+PLANNED", State::kBusy},
    {"PLANNED", State::kBusy},
    {"idle-", State::kBusy},
    {"plnd", State::kBusy},
    {"IDLE+RESERVED", State::kBusy},
    {"RESERVED", State::kBusy},
    {"resv", State::kBusy},
    {"IDLE+BLOCKED", State::kBusy},
    {"IDLE+PERFCTRS", State::kBusy},
    {"IDLE+REBOOT_REQUESTED", State::kBusy},
    {"IDLE+DRAIN+REBOOT_ISSUED", State::kBusy},
    {"idle@", State::kBusy},
    {"drain^", State::kBusy},
    {"IDLE+POWERING_UP", State::kBusy},
    {"idle#", State::kBusy},
    {"idle%", State::kBusy},
    {"idle!", State::kBusy},
    {"IDLE+CLOUD+POWERED_DOWN", State::kUnknown},
    {"idle~", State::kUnknown},
    {"DOWN", State::kUnknown},
    {"down*", State::kUnknown},
    {"DOWN+DRAIN", State::kUnknown},
    {"DOWN+NOT_RESPONDING", State::kUnknown},
    {"IDLE+NOT_RESPONDING", State::kUnknown},
    {"idle*", State::kUnknown},
    {"drain*", State::kUnknown},
    {"IDLE+FAIL", State::kUnknown},
    {"ALLOCATED+FAIL", State::kUnknown},
    {"UNKNOWN", State::kUnknown},
    {"unk*", State::kUnknown},
    {"FUTURE", State::kUnknown},
    {"IDLE+INVALID_REG", State::kUnknown},
    {"ERROR", State::kUnknown},
    {"IDLE+SOMETHING_NEW", State::kUnknown},
    {"CLOUD", State::kUnknown},
    {"*", State::kUnknown},
    {"", State::kUnknown},
    {"+", State::kUnknown},
};

TEST(SlurmNodeState, Table) {
  for (const Case& c : kCases) {
    const GateAnswer answer = JudgeSlurmState(c.state, {});
    EXPECT_EQ(answer.state, c.verdict) << "'" << c.state << "': " << answer.reason;
    EXPECT_EQ(answer.reason.empty(), answer.free()) << c.state;
  }
}

TEST(SlurmNodeState, ReservationsMayBeAllowed) {
  EXPECT_TRUE(JudgeSlurmState("IDLE+RESERVED", {.allow_reserved = true}).free());
  EXPECT_TRUE(JudgeSlurmState("resv", {.allow_reserved = true}).free());
  EXPECT_FALSE(JudgeSlurmState("MIXED+RESERVED", {.allow_reserved = true}).free());
}

TEST(SlurmNodeState, TheOwnEpilogIsNotInItsWay) {
  const SlurmStateRules rules{.own_epilog = true};
  EXPECT_TRUE(JudgeSlurmState("IDLE+COMPLETING", rules).free());
  EXPECT_TRUE(JudgeSlurmState("COMPLETING", rules).free());
  EXPECT_FALSE(JudgeSlurmState("MIXED+COMPLETING", rules).free());
  EXPECT_FALSE(JudgeSlurmState("IDLE+COMPLETING+PLANNED", rules).free());
}

TEST(SlurmNodeState, ReasonsNameTheState) {
  EXPECT_EQ(JudgeSlurmState("mixed", {}).reason, "jobs are on this node (Slurm: MIXED)");
  EXPECT_EQ(JudgeSlurmState("down*", {}).reason, "Slurm does not know what runs here (DOWN*)");
}

}  // namespace
}  // namespace fleetmark::agent
