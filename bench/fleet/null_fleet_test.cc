// The budget of false alarms holds for small and large fleets. 1,000,000 series: bench_fleet_budget.
#include "bench/fleet/null_fleet.h"

#include "gtest/gtest.h"

namespace fleetmark::bench {
namespace {

TEST(BudgetOfFalseAlarms, AHundredSeries) {
  const FalseAlerts alerts = FalseAlertsOfSeries(100, 2000, 1, 1);
  EXPECT_LE(alerts.mean, alerts.allowed + 2 * alerts.standard_error);
  EXPECT_GE(alerts.mean, 0.5 * alerts.allowed);  // and is spent
}

TEST(BudgetOfFalseAlarms, TenThousandSeries) {
  const FalseAlerts alerts = FalseAlertsOfSeries(10'000, 40, 4, 3);
  EXPECT_LE(alerts.mean, alerts.allowed + 2 * alerts.standard_error);
  EXPECT_GE(alerts.mean, 0.25 * alerts.allowed);
}

}  // namespace
}  // namespace fleetmark::bench
