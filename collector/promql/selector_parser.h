// The parts of the grammar below expressions: matchers, `[range]`, `offset`, `@`, lists of labels.
//
// Thread-safety: functions without state. Errors: InvalidArgument "LINE:COLUMN: parse error: …".
#ifndef FLEETMARK_COLLECTOR_PROMQL_SELECTOR_PARSER_H_
#define FLEETMARK_COLLECTOR_PROMQL_SELECTOR_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/token_reader.h"

namespace fleetmark::collector::promql {

// name{matchers}, name, or {matchers}, without what may follow.
absl::StatusOr<SelectorExpr> ReadSelector(TokenReader& tokens);

// What may follow a selector or a subquery: `offset D`, `@ time`. False when neither is next.
absl::StatusOr<bool> ReadShift(TokenReader& tokens, TimeShift* shift);

struct RangeClause {
  int64_t range_ms = 0;
  bool subquery = false;
  int64_t step_ms = 0;
};
// "[5m]", "[5m:1m]", "[5m:]"; the reader is at the bracket.
absl::StatusOr<RangeClause> ReadRange(TokenReader& tokens);

// "(a, b)", sorted and each once.
absl::StatusOr<std::vector<std::string>> ReadLabelList(TokenReader& tokens);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_SELECTOR_PARSER_H_
