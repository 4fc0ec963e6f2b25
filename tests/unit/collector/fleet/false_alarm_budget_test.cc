#include "collector/fleet/false_alarm_budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

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

// Fleets in which nothing changes, with everything that may not matter: series that share causes (a common
// factor of a tenth of the variance), looks that share data (AR(1) of 0.7 in time), cadences from 1.5 to 24 a
// day. Such alerts come in bursts, so the mean is compared with the budget by its own standard error.
struct Alerts {
  double mean = 0;            // in a week
  double standard_error = 0;  // of the mean
};
Alerts AlertsPerWeek(size_t series, size_t weeks, double per_week, uint32_t seed) {
  const FalseAlarmBudget budget(per_week);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  PopulationState state;
  const double population =
      SmoothedPopulation(static_cast<double>(series), absl::FromUnixSeconds(1'790'000'000), state);
  std::vector<float> own(series);
  std::array<float, 5> limits{};  // by cadence: the normal score whose tail is the level of a look
  for (size_t c = 0; c < limits.size(); ++c) {
    const double level =
        budget.Level(LookKind::kSeries, population, absl::Hours(1) * static_cast<double>(1 << c));
    double low = 0, high = 12;
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(middle / std::sqrt(2.0)) > level ? low : high) = middle;
    }
    limits[c] = static_cast<float>(high);
  }
  for (float& value : own) value = normal(random);
  float common = normal(random);
  constexpr float kKeep = 0.7f, kCommon = 0.1f;
  const float fresh = std::sqrt(1 - kKeep * kKeep), a = std::sqrt(kCommon), b = std::sqrt(1 - kCommon);
  double sum = 0, squares = 0;
  for (size_t week = 0; week < weeks; ++week) {
    double alerts = 0;
    for (size_t hour = 0; hour < 168; ++hour) {
      common = kKeep * common + fresh * normal(random);
      for (size_t i = 0; i < series; ++i) {
        if (hour % (size_t{1} << (i % 5)) != 0) continue;
        own[i] = kKeep * own[i] + fresh * normal(random);
        if (a * common + b * own[i] > limits[i % 5]) ++alerts;
      }
    }
    sum += alerts;
    squares += alerts * alerts;
  }
  const auto n = static_cast<double>(weeks);
  return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n) / n)};
}

TEST(FalseAlarmBudget, AHundredSeries) {
  const Alerts alerts = AlertsPerWeek(100, 2000, 1, 1);
  EXPECT_LE(alerts.mean, 0.5 + 2 * alerts.standard_error);  // half of the budget is for series
  EXPECT_GE(alerts.mean, 0.25);
}

TEST(FalseAlarmBudget, TenThousandSeries) {
  const Alerts alerts = AlertsPerWeek(10'000, 40, 4, 3);
  EXPECT_LE(alerts.mean, 2 + 2 * alerts.standard_error);
  EXPECT_GE(alerts.mean, 0.5);
}

}  // namespace
}  // namespace fleetmark::collector
