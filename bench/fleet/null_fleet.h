// Fleets in which nothing changes, with everything that may not matter to the budget of false alarms: series
// that share causes (a tenth of the variance), looks that share data (an autocorrelation of 0.7), cadences
// from 24 to 1.5 looks a day. Their p-values are uniform; what is measured is what the budget makes of them.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_FLEET_NULL_FLEET_H_
#define FLEETMARK_BENCH_FLEET_NULL_FLEET_H_

#include <cstddef>
#include <cstdint>

namespace fleetmark::bench {

struct FalseAlerts {
  double mean = 0;            // in a week
  double standard_error = 0;  // of the mean; alerts come in bursts, so it is taken from the weeks' counts
  double allowed = 0;         // the series' part of the budget
};

FalseAlerts FalseAlertsOfSeries(size_t series, size_t weeks, double per_week, uint32_t seed);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_FLEET_NULL_FLEET_H_
