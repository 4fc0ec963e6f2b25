// What bounds a query, and how old a sample may be to count as the present one.
//
// Thread-safety: plain data.
#ifndef FLEETMARK_COLLECTOR_PROMQL_QUERY_OPTIONS_H_
#define FLEETMARK_COLLECTOR_PROMQL_QUERY_OPTIONS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace fleetmark::collector::promql {

struct QueryOptions {
  // An instant selector takes the newest sample that is at most this old. Zero is "auto": kLookbackIntervals
  // times the series' own interval, at least kMinLookback and at most kMaxLookback; kLookbackUnknown for a
  // series with a single sample. Prometheus' five minutes would hide every benchmark that runs hourly.
  absl::Duration lookback = absl::ZeroDuration();
  // The step of a subquery that gives none.
  absl::Duration subquery_step = absl::Minutes(1);

  // A query that would exceed one of these is refused, in words that name it.
  size_t max_series = 200'000;      // of one selector
  size_t max_samples = 50'000'000;  // read from the store, in all
  size_t max_values = 20'000'000;   // series times steps, of one intermediate result
  size_t max_steps = 11'000;        // as in Prometheus
  absl::Duration timeout = absl::Minutes(2);
};

inline constexpr double kLookbackIntervals = 2.5;  // one run may be missed, and the next be late
inline constexpr absl::Duration kMinLookback = absl::Minutes(5);
inline constexpr absl::Duration kMaxLookback = absl::Hours(24 * 30);
inline constexpr absl::Duration kLookbackUnknown = absl::Hours(24);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_QUERY_OPTIONS_H_
