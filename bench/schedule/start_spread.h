// How evenly a suite's schedules spread a fleet's starts over the minutes, by the agents' own schedules.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_SCHEDULE_START_SPREAD_H_
#define FLEETMARK_BENCH_SCHEDULE_START_SPREAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::bench {

struct StartSpread {
  std::string benchmark;  // empty: all of them together
  uint64_t starts = 0;
  double mean_minute = 0;
  uint64_t largest_minute = 0;
  uint64_t smallest_minute = 0;

  double ratio() const { return mean_minute > 0 ? static_cast<double>(largest_minute) / mean_minute : 0; }
};

// Of `nodes` nodes over `span` from 2026-01-05 00:00 UTC on, a Monday: one for each benchmark of the suite
// file, and the last for all. Errors are the configuration's.
absl::StatusOr<std::vector<StartSpread>> MeasureStartSpread(const std::string& suite_file, int nodes,
                                                            absl::Duration span);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_SCHEDULE_START_SPREAD_H_
