// Parses PromQL and checks its types, as Prometheus 2.42 does.
//
// Bounds: a query has at most kMaxQueryBytes, and nests at most kMaxDepth deep.
// Thread-safety: functions without state. Errors: InvalidArgument "LINE:COLUMN: parse error: …".
#ifndef FLEETMARK_COLLECTOR_PROMQL_PARSER_H_
#define FLEETMARK_COLLECTOR_PROMQL_PARSER_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/promql/ast.h"

namespace fleetmark::collector::promql {

inline constexpr size_t kMaxQueryBytes = 256 * 1024;
inline constexpr int kMaxDepth = 100;

absl::StatusOr<ExprPtr> ParseQuery(std::string_view query);

// A selector alone, as `match[]` gives it.
absl::StatusOr<Matchers> ParseSelector(std::string_view text);

// What the grammar leaves open: types of operands and arguments, matching clauses.
absl::Status CheckTypes(std::string_view query, const Expr& expr);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_PARSER_H_
