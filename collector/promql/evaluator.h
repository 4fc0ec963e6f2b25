// Evaluates an expression at all steps of a grid.
//
// Thread-safety: none; one a query. Ownership: the selection must outlive it.
// Errors: FailedPrecondition for what Prometheus calls an execution error; those of Selection.
#ifndef FLEETMARK_COLLECTOR_PROMQL_EVALUATOR_H_
#define FLEETMARK_COLLECTOR_PROMQL_EVALUATOR_H_

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/functions.h"
#include "collector/promql/selection.h"
#include "collector/promql/value.h"

namespace fleetmark::collector::promql {

class Evaluator {
 public:
  explicit Evaluator(Selection& selection) : selection_(selection) {}

  // A scalar, string or instant vector; a range vector is visited by Ranges.
  absl::StatusOr<Value> Evaluate(const Expr& expr, const Grid& grid);

  // The samples of a range vector (a selector with a range, or a subquery), series by series.
  absl::Status Ranges(const Expr& expr, const Grid& grid, Selection::Visit visit);

 private:
  using Handler = absl::StatusOr<Value> (Evaluator::*)(const CallExpr&, const Grid&);

  absl::StatusOr<Value> EvaluateNode(const NumberExpr& number, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const StringExpr& text, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const SelectorExpr& selector, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const SubqueryExpr& subquery, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const AggregateExpr& aggregate, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const BinaryExpr& binary, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const UnaryExpr& unary, const Grid& grid);
  absl::StatusOr<Value> EvaluateNode(const ParenExpr& paren, const Grid& grid);

  absl::Status SubqueryRanges(const SubqueryExpr& subquery, const Grid& grid, Selection::Visit visit);

  // The scalar arguments of a call, each over all steps.
  absl::StatusOr<std::vector<std::vector<double>>> ScalarArgs(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallRange(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallElement(const CallExpr& call, const Grid& grid);

  // Those that are neither (special_functions.cc).
  static Handler FindHandler(std::string_view name);
  absl::StatusOr<Value> CallTime(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallPi(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallVector(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallScalar(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallTimestamp(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallSort(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallAbsent(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallAbsentOverTime(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallLabelReplace(const CallExpr& call, const Grid& grid);
  absl::StatusOr<Value> CallLabelJoin(const CallExpr& call, const Grid& grid);

  Selection& selection_;
};

// The functions that FindHandler knows.
const std::vector<FunctionInfo>& SpecialFunctions();

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_EVALUATOR_H_
