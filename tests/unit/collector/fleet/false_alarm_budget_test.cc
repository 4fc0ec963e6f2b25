#include "collector/fleet/false_alarm_budget.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

TEST(FalseAlarmBudget, TheSharesAreTheWhole) {
  EXPECT_DOUBLE_EQ(BudgetShare(LookKind::kSeries) + BudgetShare(LookKind::kPeers) +
                       BudgetShare(LookKind::kFleet) + BudgetShare(LookKind::kFailures),
                   1);
}

TEST(FalseAlarmBudget, TheLevelsOfAWeekAddUpToTheBudgetWhateverTheCadences) {
  const FalseAlarmBudget budget(3);
  double sum = 0;
  for (int series = 0; series < 100; ++series) {
    const int looks = 1 + series * 7;  // from one a week to 100 a day
    for (int look = 0; look < looks; ++look) {
      sum += budget.Level(LookKind::kSeries, 100, absl::Hours(24 * 7) / looks);
    }
  }
  EXPECT_NEAR(sum, 1.5, 1e-6);
}

TEST(FalseAlarmBudget, ALongGapIsAWeekAndNoLevelIsBeyondAFivePercentTest) {
  const FalseAlarmBudget budget(1);
  EXPECT_EQ(budget.Level(LookKind::kSeries, 1000, absl::Hours(24 * 70)),
            budget.Level(LookKind::kSeries, 1000, absl::Hours(24 * 7)));
  EXPECT_EQ(FalseAlarmBudget(1e9).Level(LookKind::kSeries, 1, absl::Hours(1)), 0.05);
  EXPECT_EQ(budget.Level(LookKind::kSeries, 10, -absl::Hours(1)), 0);
}

TEST(SmoothedPopulation, GrowsAtOnceAndShrinksByHalvesOfAWeek) {
  PopulationState state;
  const absl::Time start = absl::FromUnixSeconds(1'790'000'000);
  EXPECT_EQ(SmoothedPopulation(1000, start, state), 1000);
  EXPECT_EQ(SmoothedPopulation(1500, start + absl::Hours(1), state), 1500);
  EXPECT_NEAR(SmoothedPopulation(10, start + absl::Hours(1 + 24 * 7), state), 750, 1e-6);
  PopulationState copy;
  ASSERT_TRUE(copy.ParseFromString(state.SerializeAsString()));
  EXPECT_EQ(copy.count(), state.count());
}

TEST(CombinedPValue, HoldsForCandidatesAndTheirEvidence) {
  // Candidates below 1e-2 of uniform p-values; e-values of a likelihood ratio of normals, expectation 1.
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  constexpr double kLimit = 1e-2;
  constexpr int kCases = 3'000'000;
  int below = 0;
  for (int i = 0; i < kCases; ++i) {
    const double candidate = kLimit * uniform(random);  // given that there is a candidate
    const double x = normal(random);
    if (CombinedPValue(candidate, kLimit, std::exp(2 * x - 2)) <= 1e-3) ++below;
  }
  const double share = kLimit * below / kCases;
  EXPECT_LE(share, 1e-3);
  EXPECT_GE(share, 1e-4);  // not needlessly strict
  EXPECT_EQ(CombinedPValue(0.02, kLimit, 1), 1);
  EXPECT_EQ(CombinedPValue(0, kLimit, 1), 0);
}

TEST(EvidenceNeeded, IsWhatReachesTheLevel) {
  const double needed = EvidenceNeeded(1e-4, 1e-2, 1e-7);
  EXPECT_NEAR(CombinedPValue(1e-4, 1e-2, needed) / 1e-7, 1, 1e-9);
  EXPECT_GT(needed, 1e3);
  EXPECT_EQ(EvidenceNeeded(1e-8, 1e-2, 1e-7), 1);
  EXPECT_TRUE(std::isinf(EvidenceNeeded(1e-4, 1e-2, 0)));
}

}  // namespace
}  // namespace fleetmark::collector
