// Where PromQL reads series from: the collector's store (collector/query/store_series_source.h), or memory in
// tests.
//
// Thread-safety: implementations allow calls from any thread at once.
// Ownership: a Selection holds what it needs; the source must outlive it.
// Errors: those of the store. Units: milliseconds since 1970, as Prometheus has them.
#ifndef FLEETMARK_COLLECTOR_PROMQL_SERIES_SOURCE_H_
#define FLEETMARK_COLLECTOR_PROMQL_SERIES_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/promql/label_set.h"
#include "collector/promql/matcher.h"

namespace fleetmark::collector::promql {

struct Point {
  int64_t time_ms = 0;
  double value = 0;
};

// A series that matched, before its samples are read.
struct SelectedSeries {
  Metric metric;
  uint64_t id = 0;  // the source's own
  // The usual time between two of its samples; 0 when unknown. What "auto" lookback is made of.
  int64_t interval_ms = 0;
};

// Times are inclusive at both ends.
struct TimeSpan {
  int64_t from_ms = 0;
  int64_t to_ms = 0;
};

// What /metadata tells of a metric's name.
struct MetricMetadata {
  std::string name;
  std::string unit;
  std::string help;
  bool operator==(const MetricMetadata&) const = default;
};

class SeriesSource {
 public:
  virtual ~SeriesSource() = default;

  // The series that all matchers match and that may have samples in the span (which ones do, reading tells).
  // ResourceExhausted when there are more than `limit`.
  virtual absl::StatusOr<std::vector<SelectedSeries>> Select(const Matchers& matchers, TimeSpan span,
                                                             size_t limit) const = 0;

  // Appends the samples of the span, ascending in time and without two at one time. Stops with
  // ResourceExhausted once `points` would hold more than `limit`.
  virtual absl::Status Read(const SelectedSeries& series, TimeSpan span, size_t limit,
                            std::vector<Point>* points) const = 0;

  virtual absl::StatusOr<std::vector<MetricMetadata>> Metadata() const = 0;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_SERIES_SOURCE_H_
