// What an expression evaluates to over all steps of a query at once: for each series a column of values, one
// a step. Label work is thus done once a series, not once a step.
//
// Thread-safety: plain data and functions without state. Errors: FailedPrecondition for what Prometheus calls
// an execution error.
#ifndef FLEETMARK_COLLECTOR_PROMQL_VALUE_H_
#define FLEETMARK_COLLECTOR_PROMQL_VALUE_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/label_set.h"

namespace fleetmark::collector::promql {

// The steps of a query, in milliseconds.
struct Grid {
  int64_t start_ms = 0;
  int64_t step_ms = 1;
  size_t count = 1;

  int64_t At(size_t i) const { return start_ms + static_cast<int64_t>(i) * step_ms; }
  int64_t last_ms() const { return At(count - 1); }
};

// "No sample at this step", told apart from NaN by its bits. They are those of Prometheus' staleness marker,
// so that a marker among samples (by remote write) ends its series just there. No arithmetic yields them.
inline constexpr uint64_t kAbsentBits = 0x7ff0000000000002;
inline constexpr double kAbsent = std::bit_cast<double>(kAbsentBits);
inline bool IsAbsent(double value) { return std::bit_cast<uint64_t>(value) == kAbsentBits; }

struct Column {
  Metric metric;
  std::vector<double> values;  // as many as the grid has steps
};
using Columns = std::vector<Column>;

struct Value {
  ValueType type = ValueType::kScalar;
  Columns columns;             // kVector
  std::vector<double> scalar;  // kScalar: one a step
  std::string text;            // kString
};

absl::Status ExecutionError(std::string_view what);

// Drops columns without any sample.
void DropEmpty(Columns* columns);

// Columns with the same labels become one. An error where two have a sample at one step; with `strict` also
// when they merely have the same labels.
absl::Status MergeSameLabels(Columns* columns, bool strict = false);

absl::Status CombineDisjoint(const Column& from, std::string_view conflict, Column* into);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_VALUE_H_
