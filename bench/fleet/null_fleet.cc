#include "bench/fleet/null_fleet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "collector/fleet/false_alarm_budget.h"

namespace fleetmark::bench {
namespace {

using collector::BudgetShare;
using collector::FalseAlarmBudget;
using collector::LookKind;

constexpr size_t kCadences = 5;  // each 1, 2, 4, 8, 16 hours
constexpr float kKeep = 0.7f;
constexpr float kCommon = 0.1f;

// The normal score whose upper tail is `level`: looks are then compared without a p-value each.
float ScoreOf(double level) {
  double low = 0, high = 12;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > level ? low : high) = middle;
  }
  return static_cast<float>(high);
}

}  // namespace

FalseAlerts FalseAlertsOfSeries(size_t series, size_t weeks, double per_week, uint32_t seed) {
  const FalseAlarmBudget budget(per_week);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  collector::PopulationState state;
  const double population =
      SmoothedPopulation(static_cast<double>(series), absl::FromUnixSeconds(1'790'000'000), state);
  std::array<float, kCadences> limits{};
  for (size_t c = 0; c < kCadences; ++c) {
    limits[c] = ScoreOf(budget.Level(LookKind::kSeries, population, absl::Hours(1 << c)));
  }
  std::vector<float> own(series);
  for (float& value : own) value = normal(random);
  float common = normal(random);
  const float fresh = std::sqrt(1 - kKeep * kKeep), a = std::sqrt(kCommon), b = std::sqrt(1 - kCommon);
  double sum = 0, squares = 0;
  for (size_t week = 0; week < weeks; ++week) {
    double alerts = 0;
    for (size_t hour = 0; hour < 168; ++hour) {
      common = kKeep * common + fresh * normal(random);
      for (size_t i = 0; i < series; ++i) {
        if (hour % (size_t{1} << (i % kCadences)) != 0) continue;
        own[i] = kKeep * own[i] + fresh * normal(random);
        if (a * common + b * own[i] > limits[i % kCadences]) ++alerts;
      }
    }
    sum += alerts;
    squares += alerts * alerts;
  }
  const auto n = static_cast<double>(weeks);
  return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n) / n),
          per_week * BudgetShare(LookKind::kSeries)};
}

}  // namespace fleetmark::bench
