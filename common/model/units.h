// The units that metrics may have. A closed list: a misspelt unit would begin a series that no reference
// and no chart matches.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_MODEL_UNITS_H_
#define FLEETMARK_COMMON_MODEL_UNITS_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark {

struct Unit {
  std::string_view name;       // as written: "GB/s"
  std::string_view dimension;  // "byte/second"; only units of one dimension convert
  double scale;                // times this gives the dimension's base unit
};

const std::vector<Unit>& AllUnits();

// InvalidArgument, naming the nearest known unit, when `name` is not in the list.
absl::Status CheckUnit(std::string_view name);

// `value` in `from`, expressed in `to`. InvalidArgument when a unit is unknown or they measure different
// things.
absl::StatusOr<double> ConvertUnit(double value, std::string_view from, std::string_view to);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_UNITS_H_
