#include "collector/promql/selection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {

Selection::Selection(const SeriesSource& source, const QueryOptions& options, const Clock& clock,
                     TimeSpan query)
    : source_(source),
      options_(options),
      clock_(clock),
      query_(query),
      deadline_(clock.Mono() + options.timeout) {}

int64_t Selection::EvalTime(const TimeShift& shift, int64_t step_ms) const {
  switch (shift.at) {
    case TimeShift::At::kTime:
      return shift.at_ms - shift.offset_ms;
    case TimeShift::At::kStart:
      return query_.from_ms - shift.offset_ms;
    case TimeShift::At::kEnd:
      return query_.to_ms - shift.offset_ms;
    case TimeShift::At::kNone:
      break;
  }
  return step_ms - shift.offset_ms;
}

TimeSpan Selection::Covered(const TimeShift& shift, int64_t range_ms, const Grid& grid) const {
  return {EvalTime(shift, grid.start_ms) - range_ms, EvalTime(shift, grid.last_ms())};
}

absl::Status Selection::CheckValues(size_t columns, size_t steps) const {
  if (columns == 0 || steps <= options_.max_values / columns) return absl::OkStatus();
  return ExecutionError(absl::StrCat("query processing would hold more than ", options_.max_values,
                                     " values at once (", columns, " series of ", steps, " steps)"));
}

absl::Status Selection::CheckTime() const {
  if (clock_.Mono() < deadline_) return absl::OkStatus();
  return absl::DeadlineExceededError("query timed out in expression evaluation");
}

int64_t Selection::LookbackMs(const SelectedSeries& series) const {
  if (options_.lookback > absl::ZeroDuration()) return absl::ToInt64Milliseconds(options_.lookback);
  if (series.interval_ms <= 0) return absl::ToInt64Milliseconds(kLookbackUnknown);
  const auto usual = static_cast<int64_t>(static_cast<double>(series.interval_ms) * kLookbackIntervals);
  return std::clamp(usual, absl::ToInt64Milliseconds(kMinLookback), absl::ToInt64Milliseconds(kMaxLookback));
}

absl::StatusOr<std::vector<SelectedSeries>> Selection::Select(const Matchers& matchers, TimeSpan span) const {
  FM_RETURN_IF_ERROR(CheckTime());
  absl::StatusOr<std::vector<SelectedSeries>> series = source_.Select(matchers, span, options_.max_series);
  if (absl::IsResourceExhausted(series.status())) {
    return ExecutionError(absl::StrCat("the selector matches more than ", options_.max_series, " series"));
  }
  return series;
}

absl::Status Selection::ReadPoints(const SelectedSeries& series, TimeSpan span, std::vector<Point>* points) {
  FM_RETURN_IF_ERROR(CheckTime());
  points->clear();
  const absl::Status read = source_.Read(series, span, options_.max_samples - samples_, points);
  samples_ += points->size();
  if (!absl::IsResourceExhausted(read)) return read;
  return ExecutionError("query processing would load too many samples into memory in query execution");
}

absl::StatusOr<Columns> Selection::Instant(const SelectorExpr& selector, const Grid& grid, bool times) {
  const TimeSpan covered = Covered(selector.shift, 0, grid);
  const int64_t longest =
      absl::ToInt64Milliseconds(options_.lookback > absl::ZeroDuration() ? options_.lookback : kMaxLookback);
  FM_ASSIGN_OR_RETURN(const std::vector<SelectedSeries> selected,
                      Select(selector.matchers, {covered.from_ms - longest, covered.to_ms}));
  FM_RETURN_IF_ERROR(CheckValues(selected.size(), grid.count));
  Columns columns;
  std::vector<Point> points;
  for (const SelectedSeries& series : selected) {
    const int64_t lookback = LookbackMs(series);
    FM_RETURN_IF_ERROR(ReadPoints(series, {covered.from_ms - lookback, covered.to_ms}, &points));
    if (points.empty()) continue;
    Column column{series.metric, std::vector<double>(grid.count, kAbsent)};
    size_t next = 0;  // the first sample after the step
    bool any = false;
    for (size_t i = 0; i < grid.count; ++i) {
      const int64_t at = EvalTime(selector.shift, grid.At(i));
      while (next < points.size() && points[next].time_ms <= at) ++next;
      if (next == 0 || points[next - 1].time_ms < at - lookback) continue;
      const Point& point = points[next - 1];
      if (IsAbsent(point.value)) continue;
      column.values[i] = times ? static_cast<double>(point.time_ms) / 1000 : point.value;
      any = true;
    }
    if (any) columns.push_back(std::move(column));
  }
  return columns;
}

absl::Status Selection::Ranges(const SelectorExpr& selector, const Grid& grid, Visit visit) {
  const TimeSpan covered = Covered(selector.shift, selector.range_ms, grid);
  FM_ASSIGN_OR_RETURN(const std::vector<SelectedSeries> selected, Select(selector.matchers, covered));
  FM_RETURN_IF_ERROR(CheckValues(selected.size(), grid.count));
  std::vector<Point> points;
  for (const SelectedSeries& series : selected) {
    FM_RETURN_IF_ERROR(ReadPoints(series, covered, &points));
    std::erase_if(points, [](const Point& point) { return IsAbsent(point.value); });
    if (!points.empty()) FM_RETURN_IF_ERROR(visit(series.metric, points));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector::promql
