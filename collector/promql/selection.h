// Reads what selectors select, within the limits of the query.
//
// Thread-safety: none; one a query. Ownership: source and clock must outlive it.
// Errors: those of the source; FailedPrecondition for a limit on series, samples or values; DeadlineExceeded
// when the query's time is over.
#ifndef FLEETMARK_COLLECTOR_PROMQL_SELECTION_H_
#define FLEETMARK_COLLECTOR_PROMQL_SELECTION_H_

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/promql/query_options.h"
#include "collector/promql/series_source.h"
#include "collector/promql/value.h"
#include "common/base/clock.h"

namespace fleetmark::collector::promql {

class Selection {
 public:
  // `query` is the whole query's span, which start() and end() mean.
  Selection(const SeriesSource& source, const QueryOptions& options, const Clock& clock, TimeSpan query);

  // The newest sample of each series at each step, or with `times` when that was, in seconds.
  absl::StatusOr<Columns> Instant(const SelectorExpr& selector, const Grid& grid, bool times);

  // All samples of each series that any window of the grid covers, series by series.
  using Visit = absl::FunctionRef<absl::Status(const Metric&, std::span<const Point>)>;
  absl::Status Ranges(const SelectorExpr& selector, const Grid& grid, Visit visit);

  // When a selector looks, seen from a step of the query.
  int64_t EvalTime(const TimeShift& shift, int64_t step_ms) const;

  // From the begin of the grid's first window to the end of its last one.
  TimeSpan Covered(const TimeShift& shift, int64_t range_ms, const Grid& grid) const;

  // A limit or the time is reached.
  absl::Status CheckValues(size_t columns, size_t steps) const;
  absl::Status CheckTime() const;

  const QueryOptions& options() const { return options_; }

 private:
  int64_t LookbackMs(const SelectedSeries& series) const;
  absl::Status ReadPoints(const SelectedSeries& series, TimeSpan span, std::vector<Point>* points);
  absl::StatusOr<std::vector<SelectedSeries>> Select(const Matchers& matchers, TimeSpan span) const;

  const SeriesSource& source_;
  const QueryOptions options_;
  const Clock& clock_;
  const TimeSpan query_;
  const MonoTime deadline_;
  size_t samples_ = 0;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_SELECTION_H_
