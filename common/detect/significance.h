// What a change of level is worth as evidence: scores, probabilities, and their correction for having
// looked at every place of the series.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_DETECT_SIGNIFICANCE_H_
#define FLEETMARK_COMMON_DETECT_SIGNIFICANCE_H_

#include <cstddef>

namespace fleetmark::detect {

// A score beyond which nothing is told apart: of a change in a series without any noise.
inline constexpr double kMostScore = 100;

// The normal quantile that a Student t of `degrees` of freedom corresponds to (D. L. Wallace, "Bounds on
// normal approximations to Student's and the chi-square distributions", 1959).
double NormalScore(double t, double degrees);

// The value that a standard normal is below with probability `p`, 0 < p < 1, to 1e-9 (P. J. Acklam's rational
// approximation and one step of Halley's method).
double NormalQuantile(double p);

// P(|Z| >= z) of a standard normal Z.
double TwoSidedTail(double z);

// Probability that the greatest of the scores of all cuts of `length` samples without a change reaches `z`.
double SearchProbability(double z, size_t length);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_SIGNIFICANCE_H_
