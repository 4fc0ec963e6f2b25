// Cuts a series into segments of constant or linearly changing level, at least cost: the sum of squared
// residuals in units of the noise, plus a penalty for each cut and for each slope.
//
// Optimal partitioning by dynamic programming, B. Jackson et al. ("An algorithm for optimal partitioning of
// data on an interval", 2005), with the pruning of R. Killick, P. Fearnhead, I. Eckley ("Optimal detection
// of changepoints with a linear computational cost", 2012). Cost of a segment in O(1) from running sums.
//
// Thread-safety: immutable after construction. Values must be finite.
#ifndef FLEETMARK_COMMON_DETECT_SEGMENTATION_H_
#define FLEETMARK_COMMON_DETECT_SEGMENTATION_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::detect {

// Samples of a segment that may have a slope: fewer tell none from wild values.
inline constexpr size_t kShortestSlope = 20;

struct SegmentFit {
  double squares = 0;  // of the residuals
  double level = 0;    // at the segment's middle
  double slope = 0;    // a sample
};

class SegmentCosts {
 public:
  explicit SegmentCosts(absl::Span<const double> values);

  size_t size() const { return sum_.size() - 1; }
  SegmentFit Constant(size_t first, size_t end) const;
  SegmentFit Linear(size_t first, size_t end) const;
  // The better of both, where the slope must gain more than `slope_penalty` of squares; constant if it has
  // fewer than kShortestSlope samples.
  SegmentFit Best(size_t first, size_t end, double slope_penalty) const;

 private:
  double origin_ = 0;
  std::vector<double> sum_, squares_, weighted_;  // of the values less the origin, up to an index
};

struct SegmentationOptions {
  double cut_penalty = 0;     // of squares
  double slope_penalty = 0;   // of squares
  size_t shortest = 3;        // samples of a segment
  size_t shortest_first = 3;  // of the first one, where it is not the only one
  size_t shortest_slope = kShortestSlope;
};

// First samples of the second and later segments, ascending.
std::vector<size_t> Segment(const SegmentCosts& costs, const SegmentationOptions& options);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_SEGMENTATION_H_
