#include "common/detect/segmentation.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::detect {
namespace {

double TotalCost(const SegmentCosts& costs, const std::vector<size_t>& cuts,
                 const SegmentationOptions& options) {
  double total = 0;
  size_t first = 0;
  for (size_t k = 0; k <= cuts.size(); ++k) {
    const size_t end = k < cuts.size() ? cuts[k] : costs.size();
    const double constant = costs.Constant(first, end).squares;
    const double linear = costs.Linear(first, end).squares + options.slope_penalty;
    total += end - first < options.shortest_slope ? constant : std::min(constant, linear);
    first = end;
  }
  return total + options.cut_penalty * static_cast<double>(cuts.size());
}

// Every way of cutting, for comparison.
double LeastCost(const SegmentCosts& costs, const SegmentationOptions& options, std::vector<size_t>& cuts) {
  double best = TotalCost(costs, cuts, options);
  const size_t first = cuts.empty() ? options.shortest_first : cuts.back() + options.shortest;
  for (size_t cut = first; cut + options.shortest <= costs.size(); ++cut) {
    cuts.push_back(cut);
    best = std::min(best, LeastCost(costs, options, cuts));
    cuts.pop_back();
  }
  return best;
}

TEST(SegmentCosts, AgreeWithSumsByHand) {
  const SegmentCosts costs(std::vector<double>{1, 2, 4, 7});
  EXPECT_NEAR(costs.Constant(0, 4).level, 3.5, 1e-12);
  EXPECT_NEAR(costs.Constant(0, 4).squares, 21, 1e-12);
  EXPECT_NEAR(costs.Linear(0, 4).slope, 2, 1e-12);
  EXPECT_NEAR(costs.Linear(0, 4).squares, 1, 1e-12);
  EXPECT_NEAR(costs.Constant(1, 3).squares, 2, 1e-12);
}

TEST(Segment, PruningLosesNothing) {
  std::mt19937_64 rng(7);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 40; ++round) {
    std::vector<double> values;
    for (size_t i = 0; i < 18; ++i) {
      values.push_back(normal(rng) + (i >= 9 ? 3.0 : 0.0) + (round % 2) * 0.3 * static_cast<double>(i));
    }
    const SegmentCosts costs(values);
    SegmentationOptions options;
    options.cut_penalty = 1 + round % 5;
    options.slope_penalty = round % 3;
    options.shortest_slope = 3 + static_cast<size_t>(round % 4);
    options.shortest_first = 3 + static_cast<size_t>(round % 3);
    std::vector<size_t> none;
    EXPECT_NEAR(TotalCost(costs, Segment(costs, options), options), LeastCost(costs, options, none), 1e-9)
        << round;
  }
}

TEST(Segment, FindsStepsExactlyWithoutNoise) {
  std::vector<double> values(30, 1.0);
  for (size_t i = 12; i < 20; ++i) values[i] = 5;
  SegmentationOptions options;
  options.cut_penalty = 0.1;
  options.slope_penalty = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Segment(SegmentCosts(values), options), (std::vector<size_t>{12, 20}));
}

}  // namespace
}  // namespace fleetmark::detect
