// Scores of change points against annotations, as the Turing Change Point Dataset's benchmark defines them:
// G. J. J. van den Burg, C. K. I. Williams ("An evaluation of change point detection algorithms", 2020).
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_ACCURACY_SCORING_H_
#define FLEETMARK_BENCH_ACCURACY_SCORING_H_

#include <cstddef>
#include <vector>

namespace fleetmark::bench {

using Cuts = std::vector<size_t>;  // first samples of new segments, ascending

// Precision against all annotators' points together, recall as the mean over annotators; the first sample
// counts as a point of everyone.
double F1Score(const std::vector<Cuts>& annotations, const Cuts& found, size_t margin);

// How well the found segments cover the annotators', weighted by length; mean over annotators.
double Covering(const std::vector<Cuts>& annotations, const Cuts& found, size_t length);

// Which of `truth` have one of `found` within `margin`, each of which serves once.
size_t Matched(const Cuts& truth, const Cuts& found, size_t margin);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_ACCURACY_SCORING_H_
