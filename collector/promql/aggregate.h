// sum, avg, topk and the other aggregation operators.
//
// Thread-safety: functions without state. Errors: FailedPrecondition as in value.h.
#ifndef FLEETMARK_COLLECTOR_PROMQL_AGGREGATE_H_
#define FLEETMARK_COLLECTOR_PROMQL_AGGREGATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/value.h"

namespace fleetmark::collector::promql {

// `params` are the operator's number at each step, `label` count_values' text; empty for those without.
absl::StatusOr<Columns> Aggregate(const AggregateExpr& expr, Columns input, const std::vector<double>& params,
                                  const std::string& label, const Grid& grid);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_AGGREGATE_H_
