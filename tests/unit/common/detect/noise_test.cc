#include "common/detect/noise.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

#include "common/detect/significance.h"

namespace fleetmark::detect {
namespace {

std::vector<double> Autoregressive(size_t n, double r, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double v = normal(rng);
  for (size_t i = 0; i < n; ++i) {
    values.push_back(v);
    v = r * v + std::sqrt(1 - r * r) * normal(rng);
  }
  return values;
}

TEST(ClipOutliers, BringsBackSpikesAndKeepsSteps) {
  std::vector<double> values = Autoregressive(100, 0, 1);
  values[30] = 50;
  values[31] = 40;
  for (size_t i = 60; i < 100; ++i) values[i] += 20;
  const std::vector<double> clipped = ClipOutliers(values);
  EXPECT_LT(clipped[30], 10);
  EXPECT_LT(clipped[31], 10);
  for (size_t i = 60; i < 100; ++i) EXPECT_NEAR(clipped[i], values[i], 2.0) << i;
}

TEST(ClipOutliers, ASpellAtTheEndOfThreeIsKept) {
  std::vector<double> values = Autoregressive(60, 0, 2);
  for (size_t i = 57; i < 60; ++i) values[i] += 20;
  EXPECT_GT(ClipOutliers(values)[58], 15);
}

TEST(NoiseFromResiduals, TellsScaleAndCorrelation) {
  for (const double r : {0.0, 0.5, 0.65}) {
    const Noise noise = NoiseFromResiduals(Autoregressive(4000, r, 3), {}, 1, 0);
    EXPECT_NEAR(noise.scale, 1, 0.12) << r;
    EXPECT_NEAR(noise.correlation, r, 0.05);
    const double long_run = noise.VarianceOfMean(4000) * 4000;
    EXPECT_NEAR(long_run / ((1 + r) / (1 - r)), 1, 0.35) << r;
  }
}

TEST(NoiseFromResiduals, MoreCorrelationThanThatIsNone) {
  EXPECT_EQ(NoiseFromResiduals(Autoregressive(4000, 0.9, 3), {}, 1, 0).correlation, kMostCorrelation);
}

TEST(NoiseFromResiduals, IsAtLeastTheFloor) {
  const Noise noise = NoiseFromResiduals(std::vector<double>(50, 0.0), {}, 1, 0.5);
  EXPECT_EQ(noise.scale, 0.5);
  EXPECT_GT(noise.VarianceOfMean(10), 0);
}

TEST(Significance, QuantileInvertsTheTail) {
  for (const double p : {1e-12, 1e-6, 0.01, 0.2, 0.5, 0.9, 0.999}) {
    EXPECT_NEAR(0.5 * std::erfc(-NormalQuantile(p) / std::sqrt(2.0)) / p, 1, 1e-6) << p;
  }
}

TEST(Significance, ScoresAreLowerWithFewerDegrees) {
  EXPECT_LT(NormalScore(4, 5), NormalScore(4, 50));
  EXPECT_NEAR(NormalScore(4, 1e6), 4, 1e-3);
  EXPECT_LT(SearchProbability(6, 200), SearchProbability(6, 2000));
  EXPECT_EQ(SearchProbability(0, 200), 1);
}

}  // namespace
}  // namespace fleetmark::detect
