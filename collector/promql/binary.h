// Arithmetic, comparisons and set operators between scalars and instant vectors.
//
// Thread-safety: functions without state. Errors: FailedPrecondition for matches that are not unique.
#ifndef FLEETMARK_COLLECTOR_PROMQL_BINARY_H_
#define FLEETMARK_COLLECTOR_PROMQL_BINARY_H_

#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/value.h"

namespace fleetmark::collector::promql {

absl::StatusOr<Value> EvaluateBinary(const BinaryExpr& expr, Value lhs, Value rhs, const Grid& grid);

// Two vectors, by an operator that is no set operator.
absl::StatusOr<Columns> JoinVectors(const BinaryExpr& expr, const Columns& lhs, const Columns& rhs,
                                    const Grid& grid);

// What an operator makes of two numbers. `*keep` tells whether a comparison holds; it is true for others.
double ApplyOperator(BinaryExpr::Op op, double lhs, double rhs, bool* keep);

// The labels by which `metric` is matched.
LabelSet MatchLabels(const Matching& matching, const LabelSet& metric);

// Whether the result of the operator is another quantity, and so has no name.
bool DropsName(const BinaryExpr& expr);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_BINARY_H_
