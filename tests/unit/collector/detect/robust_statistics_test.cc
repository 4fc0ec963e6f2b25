#include "collector/detect/robust_statistics.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

std::vector<double> Normal(size_t n, double scale, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(10, scale);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(normal(rng));
  return values;
}

TEST(RobustStatistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(Median({3.0}), 3);
  EXPECT_EQ(Median({3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(Median({4.0, 1.0, 3.0, 2.0}), 2.5);
}

TEST(RobustStatistics, QuantileInterpolates) {
  EXPECT_DOUBLE_EQ(Quantile({0.0, 10.0}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({5.0, 1.0, 3.0}, 1.0), 5);
}

TEST(RobustStatistics, SpreadOfNormalValuesIsTheirDeviation) {
  EXPECT_NEAR(RobustSpread(Normal(5000, 2, 1)), 2, 0.1);
}

TEST(RobustStatistics, SpreadIgnoresAFewWildValues) {
  std::vector<double> values = Normal(1000, 2, 2);
  for (size_t i = 0; i < 20; ++i) values[i * 50] = 1e9;
  EXPECT_NEAR(RobustSpread(values), 2, 0.25);
}

TEST(RobustStatistics, SpreadSeesASecondMode) {
  std::vector<double> values(100, 1.0);
  for (size_t i = 0; i < 20; ++i) values[i * 5] = 2;
  EXPECT_GT(RobustSpread(values), 0.3);
}

TEST(RobustStatistics, QuantumIsTheSmallestRepeatedGap) {
  EXPECT_EQ(Quantum({1.0, 1.0, 3.0, 3.0, 4.0, 9.0, 9.0}), 2);
  EXPECT_EQ(Quantum({1.0, 1.0, 1.0, 5.0}), 0);
  EXPECT_EQ(Quantum({1.0, 2.0, 3.0}), 0);
}

TEST(RobustStatistics, LagOneCorrelation) {
  const std::vector<double> white = Normal(2000, 1, 3);
  EXPECT_LT(LagOneCorrelation(white, 1), 0.05);
  std::vector<double> correlated = {white[0]};
  for (size_t i = 1; i < white.size(); ++i) correlated.push_back(0.6 * correlated.back() + 0.8 * white[i]);
  EXPECT_NEAR(LagOneCorrelation(correlated, RobustSpread(correlated)), 0.6, 0.08);
  EXPECT_EQ(LagOneCorrelation({1.0, 1.0, 1.0, 1.0, 1.0}, 0), 0);
}

TEST(RobustStatistics, MedianVarianceFitsSimulation) {
  std::mt19937_64 rng(4);
  std::normal_distribution<double> normal;
  for (size_t n : {3, 5, 13, 34}) {
    double squares = 0;
    constexpr int kTrials = 20000;
    for (int t = 0; t < kTrials; ++t) {
      std::vector<double> values(n);
      for (double& v : values) v = normal(rng);
      const double m = Median(values);
      squares += m * m;
    }
    EXPECT_NEAR(MedianVariance(n) / (squares / kTrials), 1, 0.06) << n;
  }
}

TEST(RobustStatistics, VarianceInflationReachesItsLimit) {
  EXPECT_DOUBLE_EQ(VarianceInflation(10, 0), 1);
  EXPECT_NEAR(VarianceInflation(100000, 0.5), 3, 0.01);
  EXPECT_NEAR(VarianceInflation(2, 0.5), 1.5, 1e-12);
}

TEST(RobustStatistics, TailsMatchTables) {
  EXPECT_NEAR(TwoSidedNormalTail(1.959964), 0.05, 1e-6);
  EXPECT_NEAR(TwoSidedNormalTail(NormalFromStudent(2.228139, 10)), 0.05, 1e-3);
  EXPECT_NEAR(TwoSidedNormalTail(NormalFromStudent(4.586894, 10)) / 0.001, 1, 0.05);
  EXPECT_NEAR(BinomialTail(5, 4, 0.5), 6.0 / 32, 1e-12);
  EXPECT_DOUBLE_EQ(BinomialTail(5, 0, 0.3), 1);
  EXPECT_NEAR(BinomialTail(3, 3, 0.1), 1e-3, 1e-12);
}

}  // namespace
}  // namespace fleetmark::collector
