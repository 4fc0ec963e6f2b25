// The noise of a series around a piecewise level: its scale, its autocorrelation, and what both make of a
// mean of neighbouring values. A few wild values, and the steps themselves, move neither.
//
// Source of the clipping against a running median: F. R. Hampel ("The influence curve and its role in robust
// estimation", 1974).
//
// Thread-safety: functions without state. Values must be finite.
#ifndef FLEETMARK_COMMON_DETECT_NOISE_H_
#define FLEETMARK_COMMON_DETECT_NOISE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::detect {

// Values that hang together more than this are taken for a level that moves, not for noise around one: a
// walk that is called noise of a correlation near one hides every change in it.
inline constexpr double kMostCorrelation = 0.7;

double MedianOf(absl::Span<const double> values);  // not empty

// Robust spread of values around zero: by their median or their ninth decile, whichever says more, so that
// values that are mostly equal still show what the others do.
double SpreadOf(absl::Span<const double> residuals);

// Values further from the median of their seven neighbours than four robust standard deviations of such
// distances are brought back to one: a spell of up to three wild values is no level.
std::vector<double> ClipOutliers(absl::Span<const double> values);

struct Noise {
  double scale = 0;               // standard deviation of a value around its level
  double correlation = 0;         // of neighbours, 0 to kMostCorrelation
  double degrees = 1;             // of freedom that the estimate of the scale has
  std::vector<double> variances;  // of the mean of L neighbours, index L; [0] is unused

  double VarianceOfMean(size_t length) const;
};

// Robust standard deviation of the differences of values that are `lag` apart; steps hardly move it.
double DifferenceSpread(absl::Span<const double> values, size_t lag);

// From what is left after the levels between `boundaries` were fitted with so many parameters; at least
// `floor`.
Noise NoiseFromResiduals(absl::Span<const double> residuals, absl::Span<const size_t> boundaries,
                         double parameters, double floor);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_NOISE_H_
