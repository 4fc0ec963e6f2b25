#include "collector/promql/engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/promql/evaluator.h"
#include "collector/promql/parser.h"
#include "collector/promql/selection.h"
#include "collector/promql/value.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

QueryOptions Shortened(const QueryOptions& options, absl::Duration timeout) {
  QueryOptions out = options;
  out.timeout = std::min(out.timeout, timeout);
  return out;
}

QueryResult AtOneTime(Value value, int64_t time_ms) {
  QueryResult result;
  result.type = value.type;
  result.scalar.time_ms = time_ms;
  result.text = std::move(value.text);
  if (value.type == ValueType::kScalar) result.scalar.value = value.scalar[0];
  for (Column& column : value.columns) {
    if (IsAbsent(column.values[0])) continue;
    result.series.push_back({std::move(column.metric), {{time_ms, column.values[0]}}});
  }
  return result;
}

// The samples of a range vector as they are, for an instant query that asks for just that.
absl::StatusOr<QueryResult> RawSamples(const Expr& expr, const Grid& grid, Evaluator& evaluator) {
  QueryResult result;
  result.type = ValueType::kMatrix;
  FM_RETURN_IF_ERROR(evaluator.Ranges(expr, grid, [&](const Metric& metric, std::span<const Point> points) {
    result.series.push_back({metric, {points.begin(), points.end()}});
    return absl::OkStatus();
  }));
  std::sort(result.series.begin(), result.series.end(),
            [](const ResultSeries& a, const ResultSeries& b) { return *a.metric < *b.metric; });
  return result;
}

QueryResult OverRange(Value value, const Grid& grid) {
  QueryResult result;
  result.type = ValueType::kMatrix;
  if (value.type == ValueType::kScalar) {
    value.columns.push_back({std::make_shared<const LabelSet>(), std::move(value.scalar)});
  }
  for (Column& column : value.columns) {
    ResultSeries series{std::move(column.metric), {}};
    for (size_t i = 0; i < grid.count; ++i) {
      if (!IsAbsent(column.values[i])) series.points.push_back({grid.At(i), column.values[i]});
    }
    if (!series.points.empty()) result.series.push_back(std::move(series));
  }
  std::sort(result.series.begin(), result.series.end(),
            [](const ResultSeries& a, const ResultSeries& b) { return *a.metric < *b.metric; });
  return result;
}

}  // namespace

absl::StatusOr<QueryResult> Engine::Instant(std::string_view query, int64_t time_ms,
                                            absl::Duration timeout) const {
  FM_ASSIGN_OR_RETURN(const ExprPtr expr, ParseQuery(query));
  const Grid grid{time_ms, 1, 1};
  Selection selection(*options_.source, Shortened(options_.query, timeout), *options_.clock,
                      {time_ms, time_ms});
  Evaluator evaluator(selection);
  if (expr->type() == ValueType::kMatrix) return RawSamples(*expr, grid, evaluator);
  FM_ASSIGN_OR_RETURN(Value value, evaluator.Evaluate(*expr, grid));
  return AtOneTime(std::move(value), time_ms);
}

absl::StatusOr<QueryResult> Engine::Range(std::string_view query, QueryRange range,
                                          absl::Duration timeout) const {
  if (range.step_ms <= 0) {
    return absl::InvalidArgumentError(
        "zero or negative query resolution step widths are not accepted. Try a positive integer");
  }
  if (range.end_ms < range.start_ms) {
    return absl::InvalidArgumentError("end timestamp must not be before start time");
  }
  Grid grid{range.start_ms, range.step_ms, 1};
  grid.count = static_cast<size_t>((range.end_ms - range.start_ms) / range.step_ms) + 1;
  if (grid.count > options_.query.max_steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("exceeded maximum resolution of ", options_.query.max_steps,
                     " points per timeseries. Try decreasing the query resolution (?step=XX)"));
  }
  FM_ASSIGN_OR_RETURN(const ExprPtr expr, ParseQuery(query));
  if (expr->type() != ValueType::kScalar && expr->type() != ValueType::kVector) {
    return absl::InvalidArgumentError(absl::StrCat("invalid expression type \"",
                                                   TypeName(expr->type()).data(),
                                                   "\" for range query, must be Scalar or instant Vector"));
  }
  Selection selection(*options_.source, Shortened(options_.query, timeout), *options_.clock,
                      {range.start_ms, range.end_ms});
  Evaluator evaluator(selection);
  FM_ASSIGN_OR_RETURN(Value value, evaluator.Evaluate(*expr, grid));
  return OverRange(std::move(value), grid);
}

}  // namespace fleetmark::collector::promql
