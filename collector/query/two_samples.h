// How far two samples lie apart, without assuming a distribution: the shift estimates of Hodges and Lehmann
// with the intervals that belong to the tests of Wilcoxon, Mann and Whitney, by the normal approximation (M.
// Hollander, D. A. Wolfe, "Nonparametric Statistical Methods", chapters 3 and 4).
//
// Thread-safety: functions without state. Values must be finite. Time and memory grow as the product of the
// sizes: give at most some hundreds.
#ifndef FLEETMARK_COLLECTOR_QUERY_TWO_SAMPLES_H_
#define FLEETMARK_COLLECTOR_QUERY_TWO_SAMPLES_H_

#include <optional>
#include <utility>

#include "absl/types/span.h"

namespace fleetmark::collector {

struct Shift {
  double estimate = 0;
  std::optional<std::pair<double, double>> interval;  // at 95 %; absent: too few values for one
};

// Of independent samples: the median of all differences b - a. Neither may be empty.
Shift ShiftBetween(absl::Span<const double> a, absl::Span<const double> b);

// Of the differences of pairs: the median of the means of all two of them. Not empty.
Shift ShiftOfPairs(absl::Span<const double> differences);

// How often a value of b is above one of a, 0 to 1; ties count half. Neither may be empty.
double Superiority(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_TWO_SAMPLES_H_
