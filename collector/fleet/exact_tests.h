// Tail probabilities of the distributions that the fleet's tests use, computed, not approximated: sums of
// exact terms, or the continued fraction of the incomplete beta function (Lentz' method; Numerical Recipes,
// 3rd edition, 6.4).
//
// Thread-safety: functions without state. Every result is within [0, 1].
#ifndef FLEETMARK_COLLECTOR_FLEET_EXACT_TESTS_H_
#define FLEETMARK_COLLECTOR_FLEET_EXACT_TESTS_H_

#include <cstddef>

#include "absl/types/span.h"

namespace fleetmark::collector {

// Fisher's exact test, one-sided: of `total` things `marked` are marked; how likely does a random choice of
// `drawn` of them hold at least `found` marked ones? (R. A. Fisher, 1935.)
double FisherUpperTail(size_t found, size_t drawn, size_t marked, size_t total);

// P(X >= k) of a binomial variable.
double BinomialUpperTail(size_t k, size_t n, double probability);

// P(T >= t) of Student's t; `degrees` above 0.
double StudentUpperTail(double t, double degrees);

// The Mann-Whitney test, one-sided: how likely are the ranks of `later` among all values to be as high as
// they are, when nothing changed? Exact for samples without ties; with ties the normal approximation with
// the correction for ties and for continuity. 1 where either is empty.
double MannWhitneyUpperTail(absl::Span<const double> earlier, absl::Span<const double> later);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_EXACT_TESTS_H_
