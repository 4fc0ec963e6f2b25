#include "collector/promql/aggregate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/functions.h"
#include "collector/promql/number_text.h"
#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

using Op = AggregateExpr::Op;

struct Group {
  Metric metric;
  std::vector<size_t> members;  // columns of the input, in their order
};

LabelSet GroupLabels(const AggregateExpr& expr, const LabelSet& labels) {
  if (!expr.without) return labels.Keeping(expr.grouping);
  return labels.Dropping(expr.grouping).WithoutName();
}

std::vector<Group> MakeGroups(const AggregateExpr& expr, const Columns& input) {
  std::vector<Group> groups;
  absl::flat_hash_map<LabelSet, size_t> index;
  for (size_t i = 0; i < input.size(); ++i) {
    LabelSet labels = GroupLabels(expr, *input[i].metric);
    const auto [it, is_new] = index.try_emplace(labels, groups.size());
    if (is_new) groups.push_back({std::make_shared<const LabelSet>(std::move(labels)), {}});
    groups[it->second].members.push_back(i);
  }
  return groups;
}

// The running state of one group at one step. The formulas and their order are Prometheus', so that results
// agree to the last digits.
struct Accumulator {
  double value = 0;
  double mean = 0;
  double count = 0;

  void Start(Op op, double v) {
    count = 1;
    mean = v;
    value = op == Op::kStddev || op == Op::kStdvar ? 0 : v;
  }

  void AddToMean(double v) {
    ++count;
    if (std::isinf(mean)) {
      if (std::isinf(v) && (mean > 0) == (v > 0)) return;
      if (std::isfinite(v)) return;
    }
    // Each part is divided by itself, so that nothing overflows.
    mean += v / count - mean / count;
  }

  void Add(Op op, double v) {
    switch (op) {
      case Op::kSum:
        value += v;
        return;
      case Op::kAvg:
        return AddToMean(v);
      case Op::kMin:
        if (value > v || std::isnan(value)) value = v;
        return;
      case Op::kMax:
        if (value < v || std::isnan(value)) value = v;
        return;
      case Op::kStddev:
      case Op::kStdvar: {  // Welford
        ++count;
        const double delta = v - mean;
        mean += delta / count;
        value += delta * (v - mean);
        return;
      }
      default:
        ++count;
    }
  }

  double Result(Op op) const {
    switch (op) {
      case Op::kAvg:
        return mean;
      case Op::kCount:
        return count;
      case Op::kGroup:
        return 1;
      case Op::kStddev:
        return std::sqrt(value / count);
      case Op::kStdvar:
        return value / count;
      default:
        return value;
    }
  }
};

Column Accumulate(Op op, const Columns& input, const Group& group, const Grid& grid) {
  std::vector<Accumulator> states(grid.count);
  for (const size_t member : group.members) {
    const std::vector<double>& values = input[member].values;
    for (size_t i = 0; i < grid.count; ++i) {
      if (IsAbsent(values[i])) continue;
      states[i].count == 0 ? states[i].Start(op, values[i]) : states[i].Add(op, values[i]);
    }
  }
  Column out{group.metric, std::vector<double>(grid.count, kAbsent)};
  for (size_t i = 0; i < grid.count; ++i) {
    if (states[i].count > 0) out.values[i] = states[i].Result(op);
  }
  return out;
}

Column GroupQuantile(const Columns& input, const Group& group, const std::vector<double>& params,
                     const Grid& grid) {
  Column out{group.metric, std::vector<double>(grid.count, kAbsent)};
  std::vector<double> values;
  for (size_t i = 0; i < grid.count; ++i) {
    values.clear();
    for (const size_t member : group.members) {
      if (!IsAbsent(input[member].values[i])) values.push_back(input[member].values[i]);
    }
    if (!values.empty()) out.values[i] = Quantile(params[i], values);
  }
  return out;
}

absl::StatusOr<int64_t> CountParam(double value) {
  // The bounds of what int64 holds, as doubles.
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) {
    return ExecutionError(absl::StrCat("Scalar value ", PlainNumber(value), " overflows int64"));
  }
  return static_cast<int64_t>(value);
}

// Whether `a` comes before `b`: NaN last.
bool IsBetter(bool largest, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return largest ? a > b : a < b;
}

// The k best columns at one step, best first; of equal ones the earlier.
void SelectAtStep(const Columns& input, const Group& group, bool largest, size_t k, size_t step,
                  std::vector<size_t>* best) {
  best->clear();
  for (const size_t member : group.members) {
    if (!IsAbsent(input[member].values[step])) best->push_back(member);
  }
  const auto before = [&](size_t a, size_t b) {
    const double x = input[a].values[step];
    const double y = input[b].values[step];
    if (IsBetter(largest, x, y) != IsBetter(largest, y, x)) return IsBetter(largest, x, y);
    return a < b;
  };
  const size_t kept = std::min(k, best->size());
  std::partial_sort(best->begin(), best->begin() + static_cast<ptrdiff_t>(kept), best->end(), before);
  best->resize(kept);
}

absl::StatusOr<Columns> TopOrBottom(bool largest, Columns input, const std::vector<Group>& groups,
                                    const std::vector<double>& params, const Grid& grid) {
  Columns out;
  for (const Group& group : groups) {
    std::vector<size_t> order;  // of one step, which instant queries show
    absl::flat_hash_map<size_t, Column> chosen;
    for (size_t i = 0; i < grid.count; ++i) {
      FM_ASSIGN_OR_RETURN(const int64_t k, CountParam(params[i]));
      if (k < 1) continue;
      SelectAtStep(input, group, largest, static_cast<size_t>(k), i, &order);
      for (const size_t member : order) {
        Column& column = chosen[member];
        if (column.values.empty()) column.values.assign(grid.count, kAbsent);
        column.values[i] = input[member].values[i];
      }
    }
    for (const size_t member : grid.count == 1 ? order : group.members) {
      const auto it = chosen.find(member);
      if (it == chosen.end()) continue;
      it->second.metric = input[member].metric;
      out.push_back(std::move(it->second));
    }
  }
  return out;
}

absl::StatusOr<Columns> CountValues(const AggregateExpr& expr, const Columns& input, const std::string& label,
                                    const Grid& grid) {
  if (!IsLabelName(label)) {
    return ExecutionError(absl::StrCat("invalid label name ", Quoted(label)));
  }
  AggregateExpr by = {expr.op, expr.name, nullptr, nullptr, expr.without, expr.grouping};
  if (!by.without) {
    by.grouping.push_back(label);
    std::sort(by.grouping.begin(), by.grouping.end());
  }
  Columns out;
  absl::flat_hash_map<LabelSet, size_t> index;
  for (const Column& column : input) {
    absl::flat_hash_map<uint64_t, size_t> by_value;  // this column's values that were seen
    for (size_t i = 0; i < grid.count; ++i) {
      const double value = column.values[i];
      if (IsAbsent(value)) continue;
      const auto [at, unseen] = by_value.try_emplace(std::bit_cast<uint64_t>(value), 0);
      if (unseen) {
        LabelSet labels = *column.metric;
        labels.Set(label, PlainNumber(value));
        labels = GroupLabels(by, labels);
        const auto [it, is_new] = index.try_emplace(labels, out.size());
        if (is_new) {
          out.push_back({std::make_shared<const LabelSet>(std::move(labels)),
                         std::vector<double>(grid.count, kAbsent)});
        }
        at->second = it->second;
      }
      double& count = out[at->second].values[i];
      count = IsAbsent(count) ? 1 : count + 1;
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Columns> Aggregate(const AggregateExpr& expr, Columns input, const std::vector<double>& params,
                                  const std::string& label, const Grid& grid) {
  if (expr.op == Op::kCountValues) return CountValues(expr, input, label, grid);
  const std::vector<Group> groups = MakeGroups(expr, input);
  if (expr.op == Op::kTopk || expr.op == Op::kBottomk) {
    return TopOrBottom(expr.op == Op::kTopk, std::move(input), groups, params, grid);
  }
  Columns out;
  out.reserve(groups.size());
  for (const Group& group : groups) {
    out.push_back(expr.op == Op::kQuantile ? GroupQuantile(input, group, params, grid)
                                           : Accumulate(expr.op, input, group, grid));
  }
  return out;
}

}  // namespace fleetmark::collector::promql
