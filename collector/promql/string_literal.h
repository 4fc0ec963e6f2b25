// PromQL's quoted strings, with Go's escapes.
//
// Thread-safety: functions without state. Errors: InvalidArgument.
#ifndef FLEETMARK_COLLECTOR_PROMQL_STRING_LITERAL_H_
#define FLEETMARK_COLLECTOR_PROMQL_STRING_LITERAL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark::collector::promql {

// `literal` with its quotes: "…" and '…' with escapes, `…` without.
absl::StatusOr<std::string> UnquoteLiteral(std::string_view literal);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_STRING_LITERAL_H_
