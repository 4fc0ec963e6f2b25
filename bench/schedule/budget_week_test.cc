#include "bench/schedule/budget_week.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace fleetmark::bench {
namespace {

std::string DefaultSuite() { return std::string(getenv("FM_SOURCE_DIR")) + "/configs/suites/default.yaml"; }

TEST(BudgetWeek, NoNodeIsOverABudgetThatIsTooSmallForItsSuite) {
  const auto week = MeasureBudgetWeek(DefaultSuite(), 50, absl::Hours(24 * 7), 0.005);
  ASSERT_TRUE(week.ok()) << week.status();
  EXPECT_LT(week->runs, week->asked / 2) << "the budget never mattered";
  EXPECT_EQ(week->nodes_over, 0);
  EXPECT_EQ(week->nodes_over_day, 0);
  EXPECT_GT(week->mean_share, 0.8 * 0.005) << "nodes may use what they are given";
}

TEST(BudgetWeek, AnAmpleBudgetStopsNothing) {
  const auto week = MeasureBudgetWeek(DefaultSuite(), 10, absl::Hours(48), 0.9);
  ASSERT_TRUE(week.ok()) << week.status();
  EXPECT_GE(week->runs + 10 * 5, week->asked);  // those under way at the end
  EXPECT_EQ(week->nodes_over, 0);
}

TEST(BudgetWeek, WrongInputIsRefused) {
  EXPECT_FALSE(MeasureBudgetWeek("/nonexistent.yaml", 1, absl::Hours(24), 0.1).ok());
  EXPECT_FALSE(MeasureBudgetWeek(DefaultSuite(), 1, absl::Hours(24), 1).ok());
  EXPECT_FALSE(MeasureBudgetWeek(DefaultSuite(), 1, absl::Hours(1), 0.1).ok());
}

}  // namespace
}  // namespace fleetmark::bench
