#include "bench/schedule/start_spread.h"

#include <algorithm>

#include "agent/benchmark_set.h"
#include "bench/schedule/suite.h"
#include "common/base/status.h"

namespace fleetmark::bench {
namespace {

StartSpread Summarise(const std::string& benchmark, const std::vector<uint64_t>& minutes) {
  StartSpread spread;
  spread.benchmark = benchmark;
  for (const uint64_t starts : minutes) spread.starts += starts;
  spread.mean_minute = static_cast<double>(spread.starts) / static_cast<double>(minutes.size());
  spread.largest_minute = *std::max_element(minutes.begin(), minutes.end());
  spread.smallest_minute = *std::min_element(minutes.begin(), minutes.end());
  return spread;
}

}  // namespace

absl::StatusOr<std::vector<StartSpread>> MeasureStartSpread(const std::string& suite_file, int nodes,
                                                            absl::Duration span) {
  FM_ASSIGN_OR_RETURN(const std::vector<BenchmarkConfig> benchmarks, ReadSuite(suite_file));
  const absl::Time begin = absl::FromCivil(absl::CivilDay(2026, 1, 5), absl::UTCTimeZone());
  const auto minute_count = static_cast<size_t>(absl::ToInt64Minutes(span));
  if (minute_count == 0 || nodes <= 0)
    return absl::InvalidArgumentError("needs at least a minute and a node");
  std::vector<uint64_t> all(minute_count);
  std::vector<StartSpread> spreads;
  for (const BenchmarkConfig& config : benchmarks) {
    std::vector<uint64_t> minutes(minute_count);
    for (int node = 0; node < nodes; ++node) {
      FM_ASSIGN_OR_RETURN(const agent::Schedule schedule,
                          agent::PrepareSchedule(config.benchmark, NodeName(node)));
      for (absl::Time at = schedule.NextAfter(begin - absl::Nanoseconds(1)); at < begin + span;
           at = schedule.NextAfter(at)) {
        ++minutes[std::min(minute_count - 1, static_cast<size_t>(absl::ToInt64Minutes(at - begin)))];
      }
    }
    for (size_t i = 0; i < minute_count; ++i) all[i] += minutes[i];
    spreads.push_back(Summarise(config.benchmark.name(), minutes));
  }
  spreads.push_back(Summarise("", all));
  return spreads;
}

}  // namespace fleetmark::bench
