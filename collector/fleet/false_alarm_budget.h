// The budget of false alarms: at which level each look at data is tested, so that the expected number of
// false alerts of the whole fleet in a week is at most what the operator set.
//
// A population of n series (or nodes, or groups) shares `share` of the weekly budget A evenly, and each
// accrues its part with time, however often it is looked at: a look `gap` after the one before is tested at
// level
//     A * share / n * gap / one week.
// A look is falsely significant with at most that probability, so the expected number of false ones is at
// most the sum of the levels, which is A a week. The expectation of a sum needs no independence: neighbouring
// looks share data, series share causes, cadences differ, and it holds all the same (per-family error rate,
// Tukey 1953; spending a level over time, Lan and DeMets 1983). What it needs is that each p-value is valid,
// and that n and the gap are known before the look. docs/detection-fleet.md says what is known of that.
//
// Thread-safety: plain values.
#ifndef FLEETMARK_COLLECTOR_FLEET_FALSE_ALARM_BUDGET_H_
#define FLEETMARK_COLLECTOR_FLEET_FALSE_ALARM_BUDGET_H_

#include "absl/time/time.h"

#include "collector/fleet/fleet_state.pb.h"

namespace fleetmark::collector {

// Who looks; each has its part of the budget. The parts add up to one.
enum class LookKind { kSeries, kPeers, kFleet, kFailures };
double BudgetShare(LookKind kind);

class FalseAlarmBudget {
 public:
  // `per_week`: the expected number of false alerts in a week, above 0.
  explicit FalseAlarmBudget(double per_week) : per_week_(per_week) {}

  // The level of one look; at most 0.05. `population` counts all that share; `gap` counts for a week at most,
  // so that what was not looked at for long can't be spent at once.
  double Level(LookKind kind, double population, absl::Duration gap) const;

  double per_week() const { return per_week_; }

 private:
  const double per_week_;
};

// How large a population counts: `now` of them, or what it was lately, halved each week. It may grow at once
// but shrinks slowly, so that levels given before and after it shrinks do not add up to more than the budget.
double SmoothedPopulation(double now, absl::Time time, PopulationState& state);

// The p-value of evidence that came in two steps: a p-value of a candidate, which is only looked into when
// `candidate` is at most `limit`, and an e-value of data that came after it (an expectation of at most 1
// given the past, when nothing changed). With q = candidate / e the chance of a q as small is at most q * (1
// + ln(limit / q)): the integral of min(1, q / u) over candidates u up to the limit.
double CombinedPValue(double candidate, double limit, double e_value);

// The least e-value with which a candidate reaches `level`; 1 where it needs none, infinity where none will
// do.
double EvidenceNeeded(double candidate, double limit, double level);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_FALSE_ALARM_BUDGET_H_
