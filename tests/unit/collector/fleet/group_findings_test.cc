#include "collector/fleet/group_findings.h"

#include "gtest/gtest.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kNow = 1'790'000'000'000'000'000;

GroupDraft Draft(const std::vector<std::string>& nodes, int64_t onset = kNow - 1'000'000'000) {
  GroupDraft draft;
  draft.finding.set_kind(v1::Finding::KIND_SILENCE);
  draft.finding.set_scope(nodes[0]);
  draft.finding.set_onset_latest_unix_ns(onset);
  for (const std::string& node : nodes) draft.members.emplace_back().set_node(node);
  return draft;
}

ReconcileResult Pass(const std::vector<GroupDraft>& drafts, const std::vector<v1::Finding>& open,
                     const std::set<std::string>& keep = {}, int64_t now = kNow) {
  return Reconcile(kSilenceDetector, drafts, open, keep, now, "heard again");
}

TEST(Reconcile, OpensWithTheSameIdEachTime) {
  const auto first = Pass({Draft({"n1", "n2"})}, {});
  ASSERT_EQ(first.changed.size(), 1u);
  const v1::Finding& finding = first.changed[0];
  EXPECT_TRUE(IsUlid(finding.finding_id()));
  EXPECT_EQ(finding.state(), v1::Finding::STATE_OPEN);
  EXPECT_EQ(finding.member_count(), 2u);
  EXPECT_EQ(Pass({Draft({"n1", "n2"})}, {}).changed[0].finding_id(), finding.finding_id());
  EXPECT_TRUE(IsFleetFinding(finding));
  EXPECT_TRUE(finding.has_series());  // readers of JSON may rely on it
}

TEST(Reconcile, WhatIsAsBeforeIsNotWrittenAgain) {
  const auto first = Pass({Draft({"n1", "n2"})}, {});
  const auto second = Pass({Draft({"n1", "n2"})}, first.changed, {}, kNow + 1);
  EXPECT_TRUE(second.changed.empty());
  EXPECT_EQ(second.draft_ids[0], first.draft_ids[0]);
}

TEST(Reconcile, AGroupThatGrowsStaysTheSameFinding) {
  const auto first = Pass({Draft({"n2", "n3"})}, {});
  const auto second = Pass({Draft({"n1", "n2", "n3"})}, first.changed, {}, kNow + 1);
  ASSERT_EQ(second.changed.size(), 1u);
  EXPECT_EQ(second.changed[0].finding_id(), first.changed[0].finding_id());
  EXPECT_EQ(second.changed[0].found_unix_ns(), kNow);
  EXPECT_EQ(second.changed[0].member_count(), 3u);
}

TEST(Reconcile, WhatIsGoneIsClosedUnlessItIsKept) {
  const auto first = Pass({Draft({"n1"})}, {});
  const auto kept = Pass({}, first.changed, {first.changed[0].finding_id()});
  EXPECT_TRUE(kept.changed.empty());
  const auto closed = Pass({}, first.changed, {}, kNow + 5);
  ASSERT_EQ(closed.changed.size(), 1u);
  EXPECT_EQ(closed.changed[0].state(), v1::Finding::STATE_CLOSED);
  EXPECT_EQ(closed.changed[0].closed_unix_ns(), kNow + 5);
  EXPECT_EQ(closed.changed[0].explanation(), "; heard again");
}

TEST(Reconcile, TwoThatBecomeOneKeepTheOneThatSharesMost) {
  const auto first = Pass({Draft({"n1"}), Draft({"n2", "n3"})}, {});
  ASSERT_EQ(first.changed.size(), 2u);
  const auto second = Pass({Draft({"n1", "n2", "n3"})}, first.changed, {}, kNow + 1);
  ASSERT_EQ(second.changed.size(), 2u);
  EXPECT_EQ(second.changed[0].finding_id(), first.changed[1].finding_id());
  EXPECT_EQ(second.changed[1].finding_id(), first.changed[0].finding_id());
  EXPECT_EQ(second.changed[1].state(), v1::Finding::STATE_CLOSED);
}

TEST(Reconcile, ADecisionOfTheBudgetStays) {
  auto open = Pass({Draft({"n1"})}, {}).changed;
  open[0].mutable_budget()->set_within(true);
  open[0].mutable_budget()->set_level(1e-5);
  const auto second = Pass({Draft({"n1", "n2"})}, open);
  EXPECT_TRUE(second.changed[0].budget().within());
  EXPECT_EQ(second.changed[0].budget().level(), 1e-5);
}

TEST(Reconcile, ListsABoundedNumberOfMembers) {
  std::vector<std::string> nodes;
  for (int i = 0; i < kMaxMembers + 50; ++i) nodes.push_back("n" + std::to_string(i));
  const v1::Finding finding = Pass({Draft(nodes)}, {}).changed[0];
  EXPECT_EQ(finding.members_size(), kMaxMembers);
  EXPECT_EQ(finding.member_count(), static_cast<uint32_t>(kMaxMembers + 50));
}

}  // namespace
}  // namespace fleetmark::collector
