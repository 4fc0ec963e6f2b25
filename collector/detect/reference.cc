#include "collector/detect/reference.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// NaN is in no range.
absl::Status CheckRange(const char* field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ", must be from ", low, " to ", high));
}

}  // namespace

absl::StatusOr<ReferenceBounds> BoundsOf(const v1::Reference& reference) {
  const double ref = reference.value();
  const double lower = reference.lower();
  const double upper = reference.upper();
  if (!std::isfinite(ref)) return absl::InvalidArgumentError("value is not finite");
  if (reference.has_lower()) {
    FM_RETURN_IF_ERROR(CheckRange("lower", lower, ref > 0 ? -1 : -kInfinity, 0));
  }
  if (reference.has_upper()) {
    FM_RETURN_IF_ERROR(CheckRange("upper", upper, 0, ref < 0 ? 1 : kInfinity));
  }
  ReferenceBounds bounds;
  bounds.checked = ref != 0 || reference.has_lower() || reference.has_upper();
  const auto bound = [ref](double tolerance) {
    if (ref == 0) return tolerance;
    return ref > 0 ? ref * (1 + tolerance) : ref * (1 - tolerance);
  };
  bounds.low = reference.has_lower() ? bound(lower) : -kInfinity;
  bounds.high = reference.has_upper() ? bound(upper) : kInfinity;
  return bounds;
}

ReferenceResult CompareWithBounds(const ReferenceBounds& bounds, double value) {
  if (!bounds.checked) return ReferenceResult::kWithin;
  if (std::isnan(value)) return ReferenceResult::kNotANumber;
  if (value < bounds.low) return ReferenceResult::kBelow;
  if (value > bounds.high) return ReferenceResult::kAbove;
  return ReferenceResult::kWithin;
}

}  // namespace fleetmark::collector
