// Order statistics that a few wild values do not move.
//
// Thread-safety: functions without state. Values must be finite; spans must not be empty.
#ifndef FLEETMARK_COLLECTOR_DETECT_ROBUST_STATISTICS_H_
#define FLEETMARK_COLLECTOR_DETECT_ROBUST_STATISTICS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::collector {

double Median(absl::Span<const double> values);

// With linear interpolation between order statistics; `q` from 0 to 1.
double Quantile(absl::Span<const double> values, double q);

// The standard deviation of a normal distribution with the same spread: from the median absolute deviation
// or from the first and last decile, whichever is larger, so that a second mode that holds more than a
// tenth of the values counts as noise.
double RobustSpread(absl::Span<const double> values);

// The step between neighbouring values of coarsely rounded data: the smallest gap between values that occur
// more than once; 0 if fewer than two such values are there.
double Quantum(absl::Span<const double> values);

// Correlation of each value with the next, of values clipped at three spreads from the median, corrected
// for its bias in short series and lowered by its standard error, so that a few independent values do not
// look correlated; from 0 to 0.9.
double LagOneCorrelation(absl::Span<const double> values, double spread);

// Variance of the median of `n` independent normal values of variance 1.
double MedianVariance(size_t n);

// By how much the variance of a mean of `n` values grows when neighbours correlate by `correlation`, as in
// an autoregressive process of first order.
double VarianceInflation(size_t n, double correlation);

// The normal quantile that a Student t of `degrees` of freedom corresponds to (D. L. Wallace, "Bounds on
// normal approximations to Student's and the chi-square distributions", 1959).
double NormalFromStudent(double t, double degrees);

// P(|Z| >= z) of a standard normal Z.
double TwoSidedNormalTail(double z);

// P(X >= k) of a binomial X.
double BinomialTail(size_t n, size_t k, double probability);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_ROBUST_STATISTICS_H_
