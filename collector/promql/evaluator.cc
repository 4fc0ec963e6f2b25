#include "collector/promql/evaluator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/promql/aggregate.h"
#include "collector/promql/binary.h"
#include "collector/promql/number_text.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

// How many samples may be looked at between two looks at the clock.
constexpr size_t kPointsPerCheck = 1'000'000;

// The windows of one series, one step after the other. They only move forward, so finding them all costs one
// pass.
class WindowCursor {
 public:
  WindowCursor(std::span<const Point> points, int64_t range_ms) : points_(points), range_ms_(range_ms) {}

  // Both ends are inclusive, as in Prometheus 2.
  Window At(int64_t end_ms, int64_t eval_ms) {
    const int64_t start_ms = end_ms - range_ms_;
    while (end_ < points_.size() && points_[end_].time_ms <= end_ms) ++end_;
    while (begin_ < end_ && points_[begin_].time_ms < start_ms) ++begin_;
    return {points_.subspan(begin_, end_ - begin_), start_ms, end_ms, eval_ms, range_ms_};
  }

 private:
  const std::span<const Point> points_;
  const int64_t range_ms_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

struct RangeArg {
  int64_t range_ms = 0;
  TimeShift shift;
};

RangeArg RangeOf(const Expr& expr) {
  const Expr& inner = Unwrapped(expr);
  if (const auto* selector = std::get_if<SelectorExpr>(&inner.node)) {
    return {selector->range_ms, selector->shift};
  }
  const auto& subquery = std::get<SubqueryExpr>(inner.node);
  return {subquery.range_ms, subquery.shift};
}

Metric NameDropped(const Metric& metric) { return std::make_shared<const LabelSet>(metric->WithoutName()); }

absl::Status CheckSmoothing(const FunctionInfo& function, std::span<const double> params) {
  if (function.name != "holt_winters") return absl::OkStatus();
  constexpr const char* kNames[] = {"smoothing", "trend"};
  for (size_t i = 0; i < 2; ++i) {
    if (params[i] > 0 && params[i] < 1) continue;
    return ExecutionError(absl::StrCat("invalid ", kNames[i], " factor. Expected: 0 < ", i == 0 ? "sf" : "tf",
                                       " < 1, got: ", PlainNumber(params[i])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> Evaluator::Evaluate(const Expr& expr, const Grid& grid) {
  FM_RETURN_IF_ERROR(selection_.CheckTime());
  return std::visit([&](const auto& node) { return EvaluateNode(node, grid); }, expr.node);
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const NumberExpr& number, const Grid& grid) {
  return Value{.type = ValueType::kScalar, .scalar = std::vector<double>(grid.count, number.value)};
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const StringExpr& text, const Grid&) {
  return Value{.type = ValueType::kString, .text = text.value};
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const SelectorExpr& selector, const Grid& grid) {
  if (selector.range_ms != 0) return absl::InternalError("a range vector where an instant one was expected");
  Value value{.type = ValueType::kVector};
  FM_ASSIGN_OR_RETURN(value.columns, selection_.Instant(selector, grid, false));
  return value;
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const SubqueryExpr&, const Grid&) {
  return absl::InternalError("a subquery where an instant vector was expected");
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const ParenExpr& paren, const Grid& grid) {
  return Evaluate(*paren.inner, grid);
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const UnaryExpr& unary, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value value, Evaluate(*unary.inner, grid));
  if (!unary.negative) return value;
  for (double& v : value.scalar) v = -v;
  for (Column& column : value.columns) {
    column.metric = NameDropped(column.metric);
    for (double& v : column.values) {
      if (!IsAbsent(v)) v = -v;
    }
  }
  FM_RETURN_IF_ERROR(MergeSameLabels(&value.columns, true));
  return value;
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const BinaryExpr& binary, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value lhs, Evaluate(*binary.lhs, grid));
  FM_ASSIGN_OR_RETURN(Value rhs, Evaluate(*binary.rhs, grid));
  return EvaluateBinary(binary, std::move(lhs), std::move(rhs), grid);
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const AggregateExpr& aggregate, const Grid& grid) {
  Value param{.type = ValueType::kScalar};
  if (aggregate.param != nullptr) {
    FM_ASSIGN_OR_RETURN(param, Evaluate(*aggregate.param, grid));
  }
  FM_ASSIGN_OR_RETURN(Value inner, Evaluate(*aggregate.inner, grid));
  Value out{.type = ValueType::kVector};
  FM_ASSIGN_OR_RETURN(out.columns,
                      Aggregate(aggregate, std::move(inner.columns), param.scalar, param.text, grid));
  return out;
}

absl::StatusOr<Value> Evaluator::EvaluateNode(const CallExpr& call, const Grid& grid) {
  if (call.function->range != nullptr) return CallRange(call, grid);
  if (call.function->element != nullptr) return CallElement(call, grid);
  return (this->*FindHandler(call.function->name))(call, grid);
}

absl::StatusOr<std::vector<std::vector<double>>> Evaluator::ScalarArgs(const CallExpr& call,
                                                                       const Grid& grid) {
  std::vector<std::vector<double>> args;
  for (const ExprPtr& arg : call.args) {
    if (arg->type() != ValueType::kScalar) continue;
    FM_ASSIGN_OR_RETURN(Value value, Evaluate(*arg, grid));
    args.push_back(std::move(value.scalar));
  }
  return args;
}

absl::StatusOr<Value> Evaluator::CallRange(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> scalars, ScalarArgs(call, grid));
  const auto arg = std::find_if(call.args.begin(), call.args.end(),
                                [](const ExprPtr& a) { return a->type() == ValueType::kMatrix; });
  const RangeArg range = RangeOf(**arg);
  const FunctionInfo& function = *call.function;
  Value out{.type = ValueType::kVector};
  std::vector<double> params(scalars.size());
  const auto visit = [&](const Metric& metric, std::span<const Point> points) -> absl::Status {
    Column column{function.keeps_name ? metric : NameDropped(metric),
                  std::vector<double>(grid.count, kAbsent)};
    WindowCursor windows(points, range.range_ms);
    size_t seen = 0;
    for (size_t i = 0; i < grid.count; ++i) {
      const Window window = windows.At(selection_.EvalTime(range.shift, grid.At(i)), grid.At(i));
      if (window.points.empty()) continue;
      for (size_t p = 0; p < params.size(); ++p) params[p] = scalars[p][i];
      FM_RETURN_IF_ERROR(CheckSmoothing(function, params));
      column.values[i] = function.range(window, params).value_or(kAbsent);
      if ((seen += window.points.size()) < kPointsPerCheck) continue;
      seen = 0;
      FM_RETURN_IF_ERROR(selection_.CheckTime());
    }
    out.columns.push_back(std::move(column));
    return absl::OkStatus();
  };
  FM_RETURN_IF_ERROR(Ranges(**arg, grid, visit));
  DropEmpty(&out.columns);
  FM_RETURN_IF_ERROR(MergeSameLabels(&out.columns, true));
  return out;
}

absl::StatusOr<Value> Evaluator::CallElement(const CallExpr& call, const Grid& grid) {
  const FunctionInfo& function = *call.function;
  FM_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> scalars, ScalarArgs(call, grid));
  Value value{.type = ValueType::kVector};
  if (call.args.empty()) {  // the date functions: of the step itself
    Column now{std::make_shared<const LabelSet>(), {}};
    for (size_t i = 0; i < grid.count; ++i) now.values.push_back(static_cast<double>(grid.At(i)) / 1000);
    value.columns.push_back(std::move(now));
  } else {
    FM_ASSIGN_OR_RETURN(value, Evaluate(*call.args[0], grid));
  }
  const bool clamp = function.name == "clamp";
  std::vector<double> params(scalars.size());
  for (Column& column : value.columns) {
    column.metric = NameDropped(column.metric);
    for (size_t i = 0; i < grid.count; ++i) {
      double& v = column.values[i];
      if (IsAbsent(v)) continue;
      for (size_t p = 0; p < params.size(); ++p) params[p] = scalars[p][i];
      v = clamp && params[1] < params[0] ? kAbsent : function.element(v, params);
    }
  }
  DropEmpty(&value.columns);
  FM_RETURN_IF_ERROR(MergeSameLabels(&value.columns));
  return value;
}

absl::Status Evaluator::Ranges(const Expr& expr, const Grid& grid, Selection::Visit visit) {
  const Expr& inner = Unwrapped(expr);
  if (const auto* selector = std::get_if<SelectorExpr>(&inner.node)) {
    return selection_.Ranges(*selector, grid, visit);
  }
  return SubqueryRanges(std::get<SubqueryExpr>(inner.node), grid, visit);
}

absl::Status Evaluator::SubqueryRanges(const SubqueryExpr& subquery, const Grid& grid,
                                       Selection::Visit visit) {
  const TimeSpan covered = selection_.Covered(subquery.shift, subquery.range_ms, grid);
  Grid inner;
  inner.step_ms = subquery.step_ms != 0 ? subquery.step_ms
                                        : absl::ToInt64Milliseconds(selection_.options().subquery_step);
  // The steps are multiples of the interval, so that they are the same ones whenever the query is asked.
  inner.start_ms = inner.step_ms * (covered.from_ms / inner.step_ms);
  if (inner.start_ms < covered.from_ms) inner.start_ms += inner.step_ms;
  if (inner.start_ms > covered.to_ms) return absl::OkStatus();
  inner.count = static_cast<size_t>((covered.to_ms - inner.start_ms) / inner.step_ms) + 1;
  FM_RETURN_IF_ERROR(selection_.CheckValues(1, inner.count));
  FM_ASSIGN_OR_RETURN(Value value, Evaluate(*subquery.inner, inner));
  FM_RETURN_IF_ERROR(selection_.CheckValues(value.columns.size(), grid.count));
  std::vector<Point> points;
  for (const Column& column : value.columns) {
    points.clear();
    for (size_t i = 0; i < inner.count; ++i) {
      if (!IsAbsent(column.values[i])) points.push_back({inner.At(i), column.values[i]});
    }
    if (!points.empty()) FM_RETURN_IF_ERROR(visit(column.metric, points));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector::promql
