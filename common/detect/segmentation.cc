#include "common/detect/segmentation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fleetmark::detect {
namespace {

// Sum of (i - mean)^2 over n consecutive indices.
double IndexSquares(double n) { return n * (n * n - 1) / 12; }

// A place where a segment may begin.
struct Start {
  size_t index = 0;
  size_t expires = 0;  // it cannot win at or after this end; 0: not known yet
};

}  // namespace

SegmentCosts::SegmentCosts(absl::Span<const double> values)
    : sum_(values.size() + 1), squares_(values.size() + 1), weighted_(values.size() + 1) {
  for (double v : values) origin_ += v / static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i] - origin_;
    sum_[i + 1] = sum_[i] + v;
    squares_[i + 1] = squares_[i] + v * v;
    weighted_[i + 1] = weighted_[i] + static_cast<double>(i) * v;
  }
}

SegmentFit SegmentCosts::Constant(size_t first, size_t end) const {
  const double sum = sum_[end] - sum_[first];
  const double mean = sum / static_cast<double>(end - first);
  SegmentFit fit;
  fit.squares = std::max(0.0, squares_[end] - squares_[first] - sum * mean);
  fit.level = origin_ + mean;
  return fit;
}

SegmentFit SegmentCosts::Linear(size_t first, size_t end) const {
  SegmentFit fit = Constant(first, end);
  const auto n = static_cast<double>(end - first);
  if (n < 3) return fit;
  const double middle = static_cast<double>(first) + (n - 1) / 2;
  const double product = weighted_[end] - weighted_[first] - middle * (sum_[end] - sum_[first]);
  fit.slope = product / IndexSquares(n);
  fit.squares = std::max(0.0, fit.squares - fit.slope * product);
  return fit;
}

SegmentFit SegmentCosts::Best(size_t first, size_t end, double slope_penalty) const {
  const SegmentFit constant = Constant(first, end);
  if (end - first < kShortestSlope) return constant;
  const SegmentFit linear = Linear(first, end);
  return linear.squares + slope_penalty < constant.squares ? linear : constant;
}

std::vector<size_t> Segment(const SegmentCosts& costs, const SegmentationOptions& options) {
  const size_t n = costs.size();
  if (n < options.shortest) return {};
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> best(n + 1, kNone);  // least cost of the first t samples
  std::vector<size_t> last(n + 1, 0);      // where their last segment begins
  best[0] = 0;
  const bool sloped = !std::isinf(options.slope_penalty);
  const double slack = sloped ? options.slope_penalty : 0;
  // Both parts of a segment that is cut must be able to be what it was.
  const size_t part = sloped ? std::max(options.shortest, options.shortest_slope) : options.shortest;
  std::vector<Start> starts;
  std::vector<double> totals;
  for (size_t t = options.shortest; t <= n; ++t) {
    const size_t newest = t - options.shortest;
    if (newest == 0 || newest >= options.shortest_first) starts.push_back({newest});
    std::erase_if(starts, [t](const Start& s) { return s.expires != 0 && t >= s.expires; });
    totals.assign(starts.size(), 0);
    for (size_t k = 0; k < starts.size(); ++k) {
      const size_t s = starts[k].index;
      double cost = costs.Constant(s, t).squares;
      if (sloped && t - s >= options.shortest_slope) {
        cost = std::min(cost, costs.Linear(s, t).squares + options.slope_penalty);
      }
      totals[k] = best[s] + (s == 0 ? 0 : options.cut_penalty) + cost;
      if (totals[k] < best[t]) {
        best[t] = totals[k];
        last[t] = s;
      }
    }
    // A start that is behind by more than a cut, and what a slope may save, cannot win once a segment can
    // begin here instead.
    if (t < options.shortest_first) continue;
    for (size_t k = 0; k < starts.size(); ++k) {
      if (starts[k].expires == 0 && t - starts[k].index >= part &&
          totals[k] > best[t] + options.cut_penalty + slack) {
        starts[k].expires = t + part;
      }
    }
  }
  std::vector<size_t> cuts;
  for (size_t t = n; last[t] > 0; t = last[t]) cuts.push_back(last[t]);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace fleetmark::detect
