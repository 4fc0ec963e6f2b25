// The functions that look at more than one value: labels, absence, order, time.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "collector/promql/evaluator.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

Column StepTimes(const Grid& grid) {
  Column column{std::make_shared<const LabelSet>(), {}};
  column.values.reserve(grid.count);
  for (size_t i = 0; i < grid.count; ++i) column.values.push_back(static_cast<double>(grid.At(i)) / 1000);
  return column;
}

const std::string& TextArg(const CallExpr& call, size_t i) {
  return std::get<StringExpr>(Unwrapped(*call.args[i]).node).value;
}

// What absent() can say of the series that is not there: the labels that its selector demands, each once.
LabelSet DemandedLabels(const Expr& expr) {
  LabelSet labels;
  const auto* selector = std::get_if<SelectorExpr>(&Unwrapped(expr).node);
  if (selector == nullptr) return labels;
  std::vector<std::string> ambiguous;
  for (const Matcher& matcher : selector->matchers) {
    if (matcher.name() == kMetricName) continue;
    if (matcher.op() == Matcher::Op::kEqual && labels.Get(matcher.name()).empty()) {
      labels.Set(matcher.name(), matcher.value());
    } else {
      ambiguous.push_back(matcher.name());
    }
  }
  for (const std::string& name : ambiguous) labels.Remove(name);
  return labels;
}

Value AbsentWhere(const std::vector<char>& present, const Expr& expr) {
  Column column{std::make_shared<const LabelSet>(DemandedLabels(expr)), {}};
  for (const char there : present) column.values.push_back(there != 0 ? kAbsent : 1);
  Value out{.type = ValueType::kVector};
  out.columns.push_back(std::move(column));
  DropEmpty(&out.columns);
  return out;
}

absl::Status CheckDestination(std::string_view function, const std::string& name) {
  if (IsLabelName(name)) return absl::OkStatus();
  return ExecutionError(absl::StrCat("invalid destination label name in ",
                                     absl::string_view(function.data(), function.size()), "(): ", name));
}

}  // namespace

absl::StatusOr<Value> Evaluator::CallTime(const CallExpr&, const Grid& grid) {
  return Value{.type = ValueType::kScalar, .scalar = StepTimes(grid).values};
}

absl::StatusOr<Value> Evaluator::CallPi(const CallExpr&, const Grid& grid) {
  return Value{.type = ValueType::kScalar, .scalar = std::vector<double>(grid.count, std::numbers::pi)};
}

absl::StatusOr<Value> Evaluator::CallVector(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value scalar, Evaluate(*call.args[0], grid));
  Value out{.type = ValueType::kVector};
  out.columns.push_back({std::make_shared<const LabelSet>(), std::move(scalar.scalar)});
  return out;
}

absl::StatusOr<Value> Evaluator::CallScalar(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(const Value vector, Evaluate(*call.args[0], grid));
  Value out{.type = ValueType::kScalar,
            .scalar = std::vector<double>(grid.count, std::numeric_limits<double>::quiet_NaN())};
  for (size_t i = 0; i < grid.count; ++i) {
    const Column* only = nullptr;
    size_t found = 0;
    for (const Column& column : vector.columns) {
      if (IsAbsent(column.values[i])) continue;
      only = &column;
      ++found;
    }
    if (found == 1) out.scalar[i] = only->values[i];
  }
  return out;
}

absl::StatusOr<Value> Evaluator::CallTimestamp(const CallExpr& call, const Grid& grid) {
  Value out{.type = ValueType::kVector};
  if (const auto* selector = std::get_if<SelectorExpr>(&Unwrapped(*call.args[0]).node)) {
    FM_ASSIGN_OR_RETURN(out.columns, selection_.Instant(*selector, grid, true));
  } else {
    // Of anything else, the time is that of the step.
    FM_ASSIGN_OR_RETURN(out, Evaluate(*call.args[0], grid));
    const std::vector<double> times = StepTimes(grid).values;
    for (Column& column : out.columns) {
      for (size_t i = 0; i < grid.count; ++i) {
        if (!IsAbsent(column.values[i])) column.values[i] = times[i];
      }
    }
  }
  for (Column& column : out.columns) {
    column.metric = std::make_shared<const LabelSet>(column.metric->WithoutName());
  }
  FM_RETURN_IF_ERROR(MergeSameLabels(&out.columns));
  return out;
}

absl::StatusOr<Value> Evaluator::CallSort(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value value, Evaluate(*call.args[0], grid));
  if (grid.count != 1) return value;  // a range's series are sorted by their labels
  const bool descending = call.function->name == "sort_desc";
  std::stable_sort(value.columns.begin(), value.columns.end(),
                   [descending](const Column& a, const Column& b) {
                     const double x = a.values[0];
                     const double y = b.values[0];
                     if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
                     return descending ? x > y : x < y;
                   });
  return value;
}

absl::StatusOr<Value> Evaluator::CallAbsent(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(const Value value, Evaluate(*call.args[0], grid));
  std::vector<char> present(grid.count);
  for (const Column& column : value.columns) {
    for (size_t i = 0; i < grid.count; ++i) present[i] |= !IsAbsent(column.values[i]);
  }
  return AbsentWhere(present, *call.args[0]);
}

absl::StatusOr<Value> Evaluator::CallAbsentOverTime(const CallExpr& call, const Grid& grid) {
  const Expr& arg = *call.args[0];
  std::vector<char> present(grid.count);
  const Expr& inner = Unwrapped(arg);
  const auto* selector = std::get_if<SelectorExpr>(&inner.node);
  const TimeShift& shift = selector != nullptr ? selector->shift : std::get<SubqueryExpr>(inner.node).shift;
  const int64_t range_ms =
      selector != nullptr ? selector->range_ms : std::get<SubqueryExpr>(inner.node).range_ms;
  FM_RETURN_IF_ERROR(Ranges(arg, grid, [&](const Metric&, std::span<const Point> points) {
    size_t next = 0;
    for (size_t i = 0; i < grid.count; ++i) {
      const int64_t end = selection_.EvalTime(shift, grid.At(i));
      while (next < points.size() && points[next].time_ms < end - range_ms) ++next;
      if (next < points.size() && points[next].time_ms <= end) present[i] = 1;
    }
    return absl::OkStatus();
  }));
  return AbsentWhere(present, arg);
}

absl::StatusOr<Value> Evaluator::CallLabelReplace(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value value, Evaluate(*call.args[0], grid));
  const std::string& destination = TextArg(call, 1);
  const absl::StatusOr<Rewriter> rewriter = Rewriter::Create(TextArg(call, 4), TextArg(call, 2));
  if (!rewriter.ok()) {
    return ExecutionError(absl::StrCat("invalid regular expression in label_replace(): ", TextArg(call, 4)));
  }
  FM_RETURN_IF_ERROR(CheckDestination("label_replace", destination));
  for (Column& column : value.columns) {
    std::string text;
    if (!rewriter->Rewrite(column.metric->Get(TextArg(call, 3)), &text)) continue;
    LabelSet labels = *column.metric;
    labels.Set(destination, text);
    column.metric = std::make_shared<const LabelSet>(std::move(labels));
  }
  FM_RETURN_IF_ERROR(MergeSameLabels(&value.columns));
  return value;
}

absl::StatusOr<Value> Evaluator::CallLabelJoin(const CallExpr& call, const Grid& grid) {
  FM_ASSIGN_OR_RETURN(Value value, Evaluate(*call.args[0], grid));
  const std::string& destination = TextArg(call, 1);
  const std::string& separator = TextArg(call, 2);
  for (size_t i = 3; i < call.args.size(); ++i) {
    if (!IsLabelName(TextArg(call, i))) {
      return ExecutionError(absl::StrCat("invalid source label name in label_join(): ", TextArg(call, i)));
    }
  }
  FM_RETURN_IF_ERROR(CheckDestination("label_join", destination));
  for (Column& column : value.columns) {
    std::vector<std::string> parts;
    for (size_t i = 3; i < call.args.size(); ++i) parts.emplace_back(column.metric->Get(TextArg(call, i)));
    LabelSet labels = *column.metric;
    labels.Set(destination, absl::StrJoin(parts, separator));
    column.metric = std::make_shared<const LabelSet>(std::move(labels));
  }
  FM_RETURN_IF_ERROR(MergeSameLabels(&value.columns));
  return value;
}

Evaluator::Handler Evaluator::FindHandler(std::string_view name) {
  static const std::array<std::pair<std::string_view, Handler>, 11> kHandlers = {
      {{"absent", &Evaluator::CallAbsent},
       {"absent_over_time", &Evaluator::CallAbsentOverTime},
       {"label_join", &Evaluator::CallLabelJoin},
       {"label_replace", &Evaluator::CallLabelReplace},
       {"pi", &Evaluator::CallPi},
       {"scalar", &Evaluator::CallScalar},
       {"sort", &Evaluator::CallSort},
       {"sort_desc", &Evaluator::CallSort},
       {"time", &Evaluator::CallTime},
       {"timestamp", &Evaluator::CallTimestamp},
       {"vector", &Evaluator::CallVector}}};
  for (const auto& [known, handler] : kHandlers) {
    if (known == name) return handler;
  }
  return nullptr;
}

const std::vector<FunctionInfo>& SpecialFunctions() {
  constexpr ValueType kM = ValueType::kMatrix;
  constexpr ValueType kS = ValueType::kScalar;
  constexpr ValueType kT = ValueType::kString;
  constexpr ValueType kV = ValueType::kVector;
  static const std::vector<FunctionInfo> functions = {
      {.name = "absent", .args = {kV}},
      {.name = "absent_over_time", .args = {kM}},
      {.name = "label_join", .args = {kV, kT, kT, kT}, .optional_args = -1},
      {.name = "label_replace", .args = {kV, kT, kT, kT, kT}},
      {.name = "pi", .result = kS},
      {.name = "scalar", .args = {kV}, .result = kS},
      {.name = "sort", .args = {kV}},
      {.name = "sort_desc", .args = {kV}},
      {.name = "time", .result = kS},
      {.name = "timestamp", .args = {kV}},
      {.name = "vector", .args = {kS}},
  };
  return functions;
}

const FunctionInfo* FindFunction(std::string_view name) {
  static const auto* const index = [] {
    auto* map = new absl::flat_hash_map<std::string, const FunctionInfo*>();
    for (const auto* table : {&RangeFunctions(), &ElementFunctions(), &SpecialFunctions()}) {
      for (const FunctionInfo& function : *table) map->emplace(std::string(function.name), &function);
    }
    return map;
  }();
  const auto it = index->find(std::string(name));
  return it == index->end() ? nullptr : it->second;
}

}  // namespace fleetmark::collector::promql
