#include "collector/promql/binary.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

using Op = BinaryExpr::Op;

Value ScalarWithScalar(const BinaryExpr& expr, Value lhs, const Value& rhs) {
  for (size_t i = 0; i < lhs.scalar.size(); ++i) {
    bool keep = true;
    const double result = ApplyOperator(expr.op, lhs.scalar[i], rhs.scalar[i], &keep);
    lhs.scalar[i] = IsComparison(expr.op) ? (keep ? 1 : 0) : result;
  }
  return lhs;
}

// `vector_left`: the vector is the left operand.
absl::StatusOr<Value> VectorWithScalar(const BinaryExpr& expr, Value vector,
                                       const std::vector<double>& scalar, bool vector_left) {
  for (Column& column : vector.columns) {
    for (size_t i = 0; i < column.values.size(); ++i) {
      double& value = column.values[i];
      if (IsAbsent(value)) continue;
      bool keep = true;
      const double result = vector_left ? ApplyOperator(expr.op, value, scalar[i], &keep)
                                        : ApplyOperator(expr.op, scalar[i], value, &keep);
      if (expr.return_bool) {
        value = keep ? 1 : 0;
      } else if (!keep) {
        value = kAbsent;
      } else if (!IsComparison(expr.op)) {
        value = result;
      }  // a comparison leaves the vector's own value, on whichever side it stands
    }
    if (DropsName(expr)) column.metric = std::make_shared<const LabelSet>(column.metric->WithoutName());
  }
  DropEmpty(&vector.columns);
  FM_RETURN_IF_ERROR(MergeSameLabels(&vector.columns));
  return vector;
}

using Presence = std::vector<char>;  // one a step

absl::flat_hash_map<LabelSet, Presence> PresenceByLabels(const Matching& matching, const Columns& columns,
                                                         const Grid& grid) {
  absl::flat_hash_map<LabelSet, Presence> presence;
  for (const Column& column : columns) {
    Presence& steps = presence[MatchLabels(matching, *column.metric)];
    steps.resize(grid.count);
    for (size_t i = 0; i < grid.count; ++i) {
      if (!IsAbsent(column.values[i])) steps[i] = 1;
    }
  }
  return presence;
}

// Keeps of `columns` the steps at which `presence` has (or, with `invert`, has not) their labels.
void Restrict(const Matching& matching, const absl::flat_hash_map<LabelSet, Presence>& presence, bool invert,
              Columns* columns) {
  for (Column& column : *columns) {
    const auto it = presence.find(MatchLabels(matching, *column.metric));
    for (size_t i = 0; i < column.values.size(); ++i) {
      const bool there = it != presence.end() && it->second[i] != 0;
      if (there == invert) column.values[i] = kAbsent;
    }
  }
  DropEmpty(columns);
}

absl::StatusOr<Columns> CombineSets(const BinaryExpr& expr, Columns lhs, Columns rhs, const Grid& grid) {
  const Matching& matching = expr.matching;
  if (expr.op == Op::kAnd) {
    Restrict(matching, PresenceByLabels(matching, rhs, grid), false, &lhs);
    return lhs;
  }
  if (expr.op == Op::kUnless) {
    Restrict(matching, PresenceByLabels(matching, rhs, grid), true, &lhs);
    return lhs;
  }
  Restrict(matching, PresenceByLabels(matching, lhs, grid), true, &rhs);
  lhs.insert(lhs.end(), std::make_move_iterator(rhs.begin()), std::make_move_iterator(rhs.end()));
  FM_RETURN_IF_ERROR(MergeSameLabels(&lhs));
  return lhs;
}

}  // namespace

double ApplyOperator(Op op, double lhs, double rhs, bool* keep) {
  *keep = true;
  switch (op) {
    case Op::kAdd:
      return lhs + rhs;
    case Op::kSub:
      return lhs - rhs;
    case Op::kMul:
      return lhs * rhs;
    case Op::kDiv:
      return lhs / rhs;
    case Op::kMod:
      return std::fmod(lhs, rhs);
    case Op::kPow:
      return std::pow(lhs, rhs);
    case Op::kAtan2:
      return std::atan2(lhs, rhs);
    case Op::kEqual:
      *keep = lhs == rhs;
      return lhs;
    case Op::kNotEqual:
      *keep = lhs != rhs;
      return lhs;
    case Op::kLess:
      *keep = lhs < rhs;
      return lhs;
    case Op::kLessEqual:
      *keep = lhs <= rhs;
      return lhs;
    case Op::kGreater:
      *keep = lhs > rhs;
      return lhs;
    case Op::kGreaterEqual:
      *keep = lhs >= rhs;
      return lhs;
    case Op::kAnd:
    case Op::kOr:
    case Op::kUnless:
      break;
  }
  return lhs;
}

LabelSet MatchLabels(const Matching& matching, const LabelSet& metric) {
  if (matching.on) return metric.Keeping(matching.labels);
  return metric.Dropping(matching.labels).WithoutName();
}

bool DropsName(const BinaryExpr& expr) {
  // That atan2 keeps the name is so in Prometheus 2.
  return expr.return_bool || (!IsComparison(expr.op) && !IsSetOperator(expr.op) && expr.op != Op::kAtan2);
}

absl::StatusOr<Value> EvaluateBinary(const BinaryExpr& expr, Value lhs, Value rhs, const Grid& grid) {
  const bool left = lhs.type == ValueType::kVector;
  const bool right = rhs.type == ValueType::kVector;
  if (!left && !right) return ScalarWithScalar(expr, std::move(lhs), rhs);
  if (!right) return VectorWithScalar(expr, std::move(lhs), rhs.scalar, true);
  if (!left) return VectorWithScalar(expr, std::move(rhs), lhs.scalar, false);
  Value out{.type = ValueType::kVector};
  if (IsSetOperator(expr.op)) {
    FM_ASSIGN_OR_RETURN(out.columns, CombineSets(expr, std::move(lhs.columns), std::move(rhs.columns), grid));
  } else {
    FM_ASSIGN_OR_RETURN(out.columns, JoinVectors(expr, lhs.columns, rhs.columns, grid));
  }
  return out;
}

}  // namespace fleetmark::collector::promql
