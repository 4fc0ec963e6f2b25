#include "collector/action/action_policy.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using v1::Action;

const absl::Time kStart = absl::FromUnixSeconds(1'790'000'000);

std::vector<ActionNode> Nodes(int count, const std::string& node_class = "cpu") {
  std::vector<ActionNode> out;
  for (int i = 0; i < count; ++i) out.push_back({absl::StrCat(node_class, i), node_class, {}, true});
  return out;
}

Action Past(const std::string& node, Action::State state, absl::Time begun) {
  Action action;
  action.set_node(node);
  action.set_state(state);
  action.set_begun_unix_ns(absl::ToUnixNanos(begun));
  if (state != Action::STATE_REFUSED && state != Action::STATE_LEFT) {
    action.set_done_unix_ns(action.begun_unix_ns());
  }
  return action;
}

absl::Status Try(const ActionLimits& limits, const std::vector<ActionNode>& nodes,
                 const std::vector<Action>& past, const std::string& node, size_t unlisted = 0) {
  return ActionBudget(limits, nodes, past, unlisted, kStart).Check(node);
}

TEST(ActionBudgetTest, SaysWhichLimitHoldsBack) {
  ActionLimits limits{.max_nodes = 2, .max_share = 0.1, .min_healthy = 0.5};
  const std::vector<ActionNode> nodes = Nodes(10);
  EXPECT_TRUE(Try(limits, nodes, {}, "cpu0").ok());
  const std::vector<Action> one = {Past("cpu1", Action::STATE_HELD, kStart)};
  EXPECT_THAT(std::string(Try(limits, nodes, one, "cpu0").message()), HasSubstr("limits.max_share"));
  limits.max_share = 1;
  EXPECT_TRUE(Try(limits, nodes, one, "cpu0").ok());
  const std::vector<Action> two = {one[0], Past("cpu2", Action::STATE_UNDONE, kStart - absl::Hours(23))};
  EXPECT_THAT(
      std::string(Try(limits, nodes, two, "cpu0").message()),
      HasSubstr("limits.max_nodes: 2 nodes are held or were acted upon within 24h, at most 2 may be"));
  EXPECT_TRUE(absl::IsNotFound(Try(limits, nodes, {}, "gpu0")));
}

TEST(ActionBudgetTest, WhatIsOverCountsForThePeriodAndWhatIsHeldForLonger) {
  const ActionLimits limits{.max_nodes = 1, .max_share = 1, .min_healthy = 0};
  const absl::Time long_ago = kStart - absl::Hours(24 * 30);
  const std::vector<ActionNode> nodes = Nodes(10);
  EXPECT_FALSE(Try(limits, nodes, {Past("cpu1", Action::STATE_HELD, long_ago)}, "cpu0").ok());
  EXPECT_FALSE(Try(limits, nodes, {Past("cpu1", Action::STATE_ENDING, long_ago)}, "cpu0").ok());
  EXPECT_FALSE(Try(limits, nodes, {Past("cpu1", Action::STATE_UNDONE, kStart)}, "cpu0").ok());
  EXPECT_TRUE(Try(limits, nodes, {Past("cpu1", Action::STATE_UNDONE, long_ago)}, "cpu0").ok());
  // Nothing was done to these.
  EXPECT_TRUE(Try(limits, nodes, {Past("cpu1", Action::STATE_REFUSED, kStart)}, "cpu0").ok());
  EXPECT_TRUE(Try(limits, nodes, {Past("cpu1", Action::STATE_LEFT, kStart)}, "cpu0").ok());
  // As after a step of the clock.
  EXPECT_FALSE(
      Try(limits, nodes, {Past("cpu1", Action::STATE_UNDONE, kStart + absl::Hours(400))}, "cpu0").ok());
}

TEST(ActionBudgetTest, ANodeCountsOnceWhateverIsDoneToIt) {
  const ActionLimits limits{.max_nodes = 1, .max_share = 1, .min_healthy = 0};
  const std::vector<Action> past = {Past("cpu0", Action::STATE_HELD, kStart),
                                    Past("cpu0", Action::STATE_HELD, kStart)};
  EXPECT_TRUE(Try(limits, Nodes(10), past, "cpu0").ok());
  EXPECT_FALSE(Try(limits, Nodes(10), past, "cpu1").ok());
}

TEST(ActionBudgetTest, KeepsAMinimumHealthy) {
  const ActionLimits limits{.max_nodes = 100, .max_share = 1, .min_healthy = 0.8};
  std::vector<ActionNode> nodes = Nodes(10);
  for (int i : {0, 1}) nodes[static_cast<size_t>(i)].healthy = false;
  EXPECT_TRUE(Try(limits, nodes, {}, "cpu0").ok());
  // Nodes that are known by number alone may be any of these.
  EXPECT_THAT(std::string(Try(limits, nodes, {}, "cpu0", 1).message()), HasSubstr("limits.min_healthy"));
  nodes[2].healthy = false;
  EXPECT_THAT(std::string(Try(limits, nodes, {}, "cpu0").message()),
              HasSubstr("of the 10 nodes of its class 7 others are healthy, and 8 must be"));
  // A healthy node would be one healthy node less.
  nodes[2].healthy = true;
  EXPECT_FALSE(Try(limits, nodes, {}, "cpu5").ok());
  ActionLimits number = limits;
  number.min_healthy = 0;
  number.min_healthy_nodes = 9;
  EXPECT_FALSE(Try(number, nodes, {}, "cpu0").ok());
  number.min_healthy_nodes = 8;
  EXPECT_TRUE(Try(number, nodes, {}, "cpu0").ok());
}

TEST(ActionBudgetTest, OfASmallClassAShareMayBeNoNodeAtAll) {
  const ActionLimits limits{.max_nodes = 100, .max_share = 0.05, .min_healthy = 0};
  EXPECT_THAT(std::string(Try(limits, Nodes(19), {}, "cpu0").message()),
              HasSubstr("at most 0 may be (5 % of 19)"));
  EXPECT_TRUE(Try(limits, Nodes(20), {}, "cpu0").ok());
}

// Whatever fails, in whatever order, with whatever becomes of the actions and the clock: in no window of a
// period are more nodes acted upon than the caps allow, and never below the healthy minimum.
TEST(ActionBudgetProperty, TheCapsHoldOverRandomLives) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&rng](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(rng);
    };
    ActionLimits limits;
    limits.period = absl::Hours(pick(1, 48));
    limits.max_nodes = static_cast<uint32_t>(pick(1, 8));
    limits.max_share = pick(1, 60) / 100.0;
    limits.min_healthy = pick(0, 90) / 100.0;
    std::vector<ActionNode> nodes = Nodes(pick(1, 30));
    for (const ActionNode& node : Nodes(pick(0, 30), "gpu")) nodes.push_back(node);
    std::map<std::string, size_t> sizes;
    for (const ActionNode& node : nodes) ++sizes[node.node_class];
    std::vector<Action> past;
    std::vector<absl::Time> real;  // when each began, by a clock that never steps
    absl::Time now = kStart;
    for (int step = 0; step < 120; ++step) {
      now += absl::Minutes(pick(0, 240));
      for (ActionNode& node : nodes) {
        if (pick(0, 9) == 0) node.healthy = !node.healthy;
      }
      for (Action& action : past) {
        if (IsActive(action) && pick(0, 9) == 0) action.set_state(Action::STATE_UNDONE);
      }
      ActionBudget budget(limits, nodes, past, 0, now);
      for (int attempt = 0; attempt < 5; ++attempt) {
        const ActionNode& node = nodes[static_cast<size_t>(pick(0, static_cast<int>(nodes.size()) - 1))];
        if (!budget.Check(node.name).ok()) continue;
        std::set<std::string> held;
        for (const Action& action : past) {
          if (IsActive(action)) held.insert(action.node());
        }
        size_t healthy = 0;
        for (const ActionNode& other : nodes) {
          const bool counts = other.node_class == node.node_class && other.name != node.name;
          healthy += counts && other.healthy && !held.contains(other.name) ? 1 : 0;
        }
        ASSERT_GE(static_cast<double>(healthy) + 1e-6,
                  limits.min_healthy * static_cast<double>(sizes[node.node_class]))
            << "seed " << seed;
        budget.Take(node.name);
        past.push_back(Past(node.name, Action::STATE_HELD, now));
        real.push_back(now);
        std::set<std::string> all;
        std::set<std::string> of_class;
        for (size_t i = 0; i < past.size(); ++i) {
          if (!IsActive(past[i]) && now - real[i] >= limits.period) continue;
          all.insert(past[i].node());
          if (past[i].node().starts_with(node.node_class)) of_class.insert(past[i].node());
        }
        ASSERT_LE(all.size(), limits.max_nodes) << "seed " << seed;
        ASSERT_LE(static_cast<double>(of_class.size()),
                  limits.max_share * static_cast<double>(sizes[node.node_class]) + 1e-6)
            << "seed " << seed;
      }
    }
  }
}

// A clock that is set back never frees a place.
TEST(ActionBudgetProperty, AStepBackOfTheClockFreesNothing) {
  std::mt19937 rng(7);
  for (int round = 0; round < 500; ++round) {
    const ActionLimits limits{.period = absl::Hours(24), .max_nodes = 3, .max_share = 1, .min_healthy = 0};
    std::vector<Action> past;
    for (int i = 0; i < 3; ++i) {
      const auto ago = absl::Minutes(std::uniform_int_distribution<int>(0, 24 * 60 - 1)(rng));
      past.push_back(Past(absl::StrCat("cpu", i), Action::STATE_UNDONE, kStart - ago));
    }
    const absl::Time then = kStart - absl::Hours(std::uniform_int_distribution<int>(0, 10'000)(rng));
    EXPECT_FALSE(ActionBudget(limits, Nodes(10), past, 0, then).Check("cpu9").ok());
  }
}

v1::Finding Slow(const std::string& node, const std::string& benchmark) {
  v1::Finding finding;
  finding.set_finding_id(absl::StrCat(node, "-", benchmark));
  finding.mutable_series()->set_node(node);
  finding.mutable_series()->set_benchmark(benchmark);
  finding.set_kind(v1::Finding::KIND_CHANGE);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.mutable_budget()->set_within(true);
  return finding;
}

TEST(EvidenceTest, TwoBenchmarksOrAConfirmation) {
  const EvidenceNeeded needed;
  EXPECT_FALSE(WeighEvidence("n1", {}, needed).enough);
  EXPECT_FALSE(WeighEvidence("n1", {Slow("n1", "stream")}, needed).enough);
  // Two metrics of one benchmark are one piece of evidence.
  EXPECT_FALSE(WeighEvidence("n1", {Slow("n1", "stream"), Slow("n1", "stream")}, needed).enough);
  const Evidence two = WeighEvidence("n1", {Slow("n1", "stream"), Slow("n1", "gemm")}, needed);
  EXPECT_TRUE(two.enough);
  EXPECT_EQ(two.text, "shown by 2 benchmarks: gemm, stream");
  EXPECT_THAT(two.finding_ids, testing::ElementsAre("n1-gemm", "n1-stream"));

  v1::Finding confirmed = Slow("n1", "stream");
  confirmed.mutable_confirmation()->set_state(v1::Confirmation::STATE_CONFIRMED);
  EXPECT_TRUE(WeighEvidence("n1", {confirmed}, needed).enough);
  EXPECT_FALSE(WeighEvidence("n1", {confirmed}, {.benchmarks = 2, .confirmed_alone = false}).enough);
  EXPECT_TRUE(WeighEvidence("n1", {Slow("n1", "stream")}, {.benchmarks = 1}).enough);
}

TEST(EvidenceTest, WhatSaysNothingAboutThisNodeCountsForNothing) {
  std::vector<v1::Finding> none;
  none.push_back(Slow("n2", "a"));
  none.push_back(Slow("n1", "b"));
  none.back().set_direction(v1::Finding::DIRECTION_BETTER);
  none.push_back(Slow("n1", "c"));
  none.back().set_state(v1::Finding::STATE_CLOSED);
  none.push_back(Slow("n1", "d"));
  none.back().mutable_budget()->set_within(false);
  none.push_back(Slow("n1", "e"));
  none.back().set_kind(v1::Finding::KIND_SILENCE);
  none.push_back(Slow("n1", "f"));
  none.back().set_kind(v1::Finding::KIND_FLEET);
  none.push_back(Slow("n1", "g"));
  none.back().add_members()->set_node("n2");
  none.back().set_member_count(1);
  const Evidence evidence = WeighEvidence("n1", none, {.benchmarks = 1});
  EXPECT_FALSE(evidence.enough);
  EXPECT_THAT(evidence.finding_ids, IsEmpty());
}

v1::Alert Firing() {
  v1::Alert alert;
  alert.set_class_(v1::ALERT_CLASS_SLOW);
  alert.add_nodes("n1");
  alert.set_node_count(1);
  alert.mutable_life()->set_state(v1::AlertLife::STATE_FIRING);
  alert.mutable_life()->set_firing_unix_ns(absl::ToUnixNanos(kStart));
  return alert;
}

TEST(AlertPolicyTest, OnlyAnAlertAboutOneNodeIsActedUpon) {
  v1::Alert alert = Firing();
  EXPECT_EQ(NodeToActUpon(alert), "n1");
  alert.set_node_count(2);
  EXPECT_EQ(NodeToActUpon(alert), "");
  alert.set_node_count(1);
  for (const auto other : {v1::ALERT_CLASS_SHIFT, v1::ALERT_CLASS_SILENT}) {
    alert.set_class_(other);
    EXPECT_EQ(NodeToActUpon(alert), "");
  }
}

TEST(AlertPolicyTest, AnAlertMustHaveFiredUndisturbed) {
  const absl::Duration settle = absl::Minutes(10);
  v1::Alert alert = Firing();
  EXPECT_EQ(WhyAlertWaits(alert, settle, kStart + settle), "");
  EXPECT_THAT(WhyAlertWaits(alert, settle, kStart + absl::Minutes(9)), HasSubstr("settle"));
  // The clock was set back: it counts as if it had begun now.
  EXPECT_THAT(WhyAlertWaits(alert, settle, kStart - absl::Hours(5)), HasSubstr("settle"));
  const absl::Time later = kStart + absl::Hours(5);
  for (const auto state : {v1::AlertLife::STATE_PENDING, v1::AlertLife::STATE_ACKNOWLEDGED,
                           v1::AlertLife::STATE_SILENCED, v1::AlertLife::STATE_RESOLVED}) {
    alert.mutable_life()->set_state(state);
    EXPECT_NE(WhyAlertWaits(alert, settle, later), "");
  }
  alert = Firing();
  alert.mutable_life()->set_flapping(true);
  EXPECT_EQ(WhyAlertWaits(alert, settle, later), "the alert flaps");
  alert = Firing();
  alert.mutable_life()->set_clear_unix_ns(1);
  EXPECT_EQ(WhyAlertWaits(alert, settle, later), "the alert goes away");
}

}  // namespace
}  // namespace fleetmark::collector
