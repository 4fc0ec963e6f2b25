// The suite and the nodes that the measurements of schedules are made with.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_SCHEDULE_SUITE_H_
#define FLEETMARK_BENCH_SCHEDULE_SUITE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "agent/config.h"

namespace fleetmark::bench {

// As clusters name them: neighbours differ in a digit.
std::string NodeName(int i);

// Errors are the configuration's.
absl::StatusOr<std::vector<BenchmarkConfig>> ReadSuite(const std::string& file);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_SCHEDULE_SUITE_H_
