// The rules for a benchmark's definition, as far as they need no plugin. Thread-safety: functions without
// state.
#ifndef FLEETMARK_COMMON_MODEL_BENCHMARK_H_
#define FLEETMARK_COMMON_MODEL_BENCHMARK_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

inline constexpr absl::Duration kLongestTimeout = absl::Hours(24);

// gpu0, …, gpu999. InvalidArgument else.
absl::Status CheckDevice(std::string_view device);

// For definitions from outside, which no YAML reader has checked. InvalidArgument names the field.
absl::Status CheckBenchmark(const v1::Benchmark& benchmark);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_BENCHMARK_H_
