#include "collector/fleet/false_alarm_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kWeek = absl::Hours(24 * 7);
constexpr double kMostLevel = 0.05;  // where the budget would allow more, a finding must still mean something

}  // namespace

double BudgetShare(LookKind kind) {
  switch (kind) {
    case LookKind::kSeries:
      return 0.5;
    case LookKind::kPeers:
    case LookKind::kFleet:
      return 0.2;
    case LookKind::kFailures:
      break;
  }
  return 0.1;
}

double FalseAlarmBudget::Level(LookKind kind, double population, absl::Duration gap) const {
  const double part = absl::FDivDuration(std::clamp(gap, absl::ZeroDuration(), kWeek), kWeek);
  return std::min(kMostLevel, per_week_ * BudgetShare(kind) * part / std::max(1.0, population));
}

double SmoothedPopulation(double now, absl::Time time, PopulationState& state) {
  const absl::Duration passed = time - absl::FromUnixNanos(state.time_unix_ns());
  const double weeks = std::max(0.0, absl::FDivDuration(passed, kWeek));
  const double count = std::max(now, state.count() * std::exp2(-weeks));
  state.set_count(count);
  state.set_time_unix_ns(absl::ToUnixNanos(time));
  return count;
}

double CombinedPValue(double candidate, double limit, double e_value) {
  const double q = candidate / std::max(e_value, 1e-300);
  if (!(q < limit)) return 1;
  if (q <= 0) return 0;
  return std::min(1.0, q * (1 + std::log(limit / q)));
}

double EvidenceNeeded(double candidate, double limit, double level) {
  if (candidate <= level) return 1;  // a p-value by itself is as good as it says
  if (!(level > 0)) return std::numeric_limits<double>::infinity();
  double low = 0, high = 700;  // logarithms
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (CombinedPValue(candidate, limit, std::exp(middle)) > level ? low : high) = middle;
  }
  return std::exp(high);
}

}  // namespace fleetmark::collector
