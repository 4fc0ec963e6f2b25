// Finds a lasting change of level: the medians of the newest 3, 5, 8, 13, 21 and 34 samples are each
// compared with the median of up to 120 samples before them.
//
// A change is stated when, for one of these lengths L, both hold:
//   size   the difference, divided by the spread that medians of L samples showed in the past (at least what
//          the noise and its autocorrelation make of them), is beyond a Student t limit;
//   order  so many of the L samples are beyond the middle between both levels that, given how often older
//          samples were, the binomial probability is small. Data with two modes, few distinct values or
//          frequent outliers pass the first test by chance, but not this one.
// Where all values are positive their logarithms are compared, so that equal ratios count equally. The
// onset is the split that minimises the sum of absolute deviations from both levels.
//
// Not seen: changes of spread, slow drift, and a change within the first `warm_up` samples.
//
// Thread-safety: immutable.
#ifndef FLEETMARK_COLLECTOR_DETECT_CHANGE_DETECTOR_H_
#define FLEETMARK_COLLECTOR_DETECT_CHANGE_DETECTOR_H_

#include <cstddef>

#include "collector/detect/detector.h"

namespace fleetmark::collector {

// The noise of one regime.
struct RegimeNoise {
  double scale = 0;         // standard deviation, robustly estimated
  bool logarithmic = true;  // of the logarithms; false: of the values, which are not all positive
};
RegimeNoise EstimateNoise(absl::Span<const Point> regime);

class ChangeDetector final : public Detector {
 public:
  struct Options {
    size_t warm_up = 12;            // samples of the old level that are needed
    size_t warm_up_with_scale = 6;  // the same, where `pooled_scale` is known
    size_t max_before = 120;
    double score_limit = 4.1;          // of the size test, in standard deviations of a normal
    double order_limit = 1e-4;         // of the order test, a probability
    double min_relative_scale = 5e-4;  // noise of a sample that is always allowed for, as a fraction
  };

  explicit ChangeDetector(Options options) : options_(options) {}
  ChangeDetector() : ChangeDetector(Options()) {}

  std::string_view name() const override { return "change"; }
  std::optional<Verdict> Judge(absl::Span<const Point> history, const Point& sample, v1::Better better,
                               double pooled_scale) const override;

 private:
  const Options options_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_CHANGE_DETECTOR_H_
