// Runs a detector through collector/detect/evaluation.h over synthetic series, sample by sample, as the
// collector would, and counts what it says.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_ACCURACY_ACCURACY_H_
#define FLEETMARK_BENCH_ACCURACY_ACCURACY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "bench/accuracy/synthetic_series.h"
#include "collector/detect/detector.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::bench {

struct Said {
  size_t at = 0;  // index of the sample with which it was said
  v1::Finding finding;
  size_t onset = 0;  // index of the latest onset
};

// The change findings that are opened while `values` come in one by one.
std::vector<Said> Replay(absl::Span<const double> values, const collector::Detector& detector);

// Findings per 1,000 samples of unchanged series.
double FalseFindings(Family family, const collector::Detector& detector, size_t series, size_t length,
                     uint64_t seed);

struct StepScore {
  double found = 0;         // share of series with a finding whose onset is within 5 samples of the step's
  double median_delay = 0;  // samples from the step to that finding, itself included
  double within_5 = 0;      // share of series in which it was found by the fifth sample
};

// A step down by `step` noise after `before` samples of `length`.
StepScore FindStep(Family family, const collector::Detector& detector, double step, size_t before,
                   size_t length, size_t series, uint64_t seed);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_ACCURACY_ACCURACY_H_
