// The functions of PromQL that are served, their signatures, and how each is computed. Their meaning is that
// of Prometheus 2 (https://prometheus.io/docs/prometheus/latest/querying/functions/).
//
// Thread-safety: constant data.
#ifndef FLEETMARK_COLLECTOR_PROMQL_FUNCTIONS_H_
#define FLEETMARK_COLLECTOR_PROMQL_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collector/promql/ast.h"
#include "collector/promql/series_source.h"

namespace fleetmark::collector::promql {

// One window of a range vector, oldest first, not empty.
struct Window {
  std::span<const Point> points;
  int64_t start_ms = 0;  // the window's own edges, offset applied
  int64_t end_ms = 0;
  int64_t eval_ms = 0;  // the step that it is computed for
  int64_t range_ms = 0;
};

// The value of a function over a window, or none. `params` are its scalar arguments in order.
using RangeFunction = std::optional<double> (*)(const Window& window, std::span<const double> params);
// The value of a function of one sample of an instant vector.
using ElementFunction = double (*)(double value, std::span<const double> params);

struct FunctionInfo {
  std::string_view name;
  std::vector<ValueType> args;
  int optional_args = 0;  // how many of them, from the end, may be left out; -1: the last may also repeat
  ValueType result = ValueType::kVector;
  RangeFunction range = nullptr;
  ElementFunction element = nullptr;
  bool keeps_name = false;
};

// Null for a name that is not served.
const FunctionInfo* FindFunction(std::string_view name);

// The tables that FindFunction searches.
const std::vector<FunctionInfo>& RangeFunctions();
const std::vector<FunctionInfo>& ElementFunctions();

// The q-quantile as Prometheus has it: linear between ranks, NaN sorts first, infinite for q outside [0, 1].
// Reorders the values.
double Quantile(double q, std::vector<double>& values);

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_FUNCTIONS_H_
