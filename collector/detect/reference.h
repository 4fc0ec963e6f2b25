// An operator's expected value and its tolerances, compared exactly as ReFrame compares a test's reference
// (value, lower, upper, unit):
//
//   reference > 0   low = ref * (1 + lower), high = ref * (1 + upper); lower in [-1, 0], upper >= 0
//   reference < 0   low = ref * (1 - lower), high = ref * (1 - upper); lower <= 0, upper in [0, 1]
//   reference = 0   low = lower, high = upper, as absolute values;     lower <= 0, upper >= 0
//   absent tolerance: no bound on that side
//
// Both bounds are inclusive; NaN is never within them. A reference of 0 without tolerances means "not
// checked", as ReFrame writes it for a test without a reference.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_DETECT_REFERENCE_H_
#define FLEETMARK_COLLECTOR_DETECT_REFERENCE_H_

#include "absl/status/statusor.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

struct ReferenceBounds {
  bool checked = true;  // false: everything is within
  double low = 0;
  double high = 0;
};

enum class ReferenceResult { kWithin, kBelow, kAbove, kNotANumber };

// InvalidArgument, naming the field, when a tolerance is outside its range or a number is not finite.
absl::StatusOr<ReferenceBounds> BoundsOf(const v1::Reference& reference);

ReferenceResult CompareWithBounds(const ReferenceBounds& bounds, double value);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_REFERENCE_H_
