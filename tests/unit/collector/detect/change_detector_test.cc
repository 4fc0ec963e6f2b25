#include "collector/detect/change_detector.h"

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

std::vector<Point> Points(const std::vector<double>& values) {
  std::vector<Point> points;
  for (double v : values) points.push_back({static_cast<int64_t>(points.size() + 1) * 1'000'000'000, v});
  return points;
}

std::vector<double> Noisy(size_t n, double level, double noise, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(level, noise);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(normal(rng));
  return values;
}

std::vector<double> operator+(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The first verdict while the values come in, and with which value.
struct First {
  std::optional<Verdict> verdict;
  size_t at = 0;
};
First Feed(const std::vector<double>& values, v1::Better better = v1::BETTER_HIGHER, double pooled = 0) {
  const ChangeDetector detector;
  const std::vector<Point> points = Points(values);
  for (size_t i = 0; i < points.size(); ++i) {
    auto verdict = detector.Judge(absl::MakeConstSpan(points).first(i), points[i], better, pooled);
    if (verdict.has_value()) return {verdict, i};
  }
  return {};
}

TEST(ChangeDetector, FindsSizeDirectionAndOnset) {
  const First first = Feed(Noisy(60, 100, 2, 1) + Noisy(20, 80, 2, 2));
  ASSERT_TRUE(first.verdict.has_value());
  const Verdict& v = *first.verdict;
  EXPECT_LE(first.at, 63u);
  EXPECT_EQ(v.kind, v1::Finding::KIND_CHANGE);
  EXPECT_EQ(v.direction, v1::Finding::DIRECTION_WORSE);
  EXPECT_NEAR(v.before, 100, 1.5);
  EXPECT_NEAR(v.after, 80, 3);
  EXPECT_NEAR(v.change, -0.2, 0.04);
  EXPECT_LT(v.change_low, v.change);
  EXPECT_GT(v.change_high, v.change);
  EXPECT_LT(v.onset_low, 60u);
  EXPECT_GE(v.onset_high, 60u);
  EXPECT_GE(v.onset_low, 57u);
  EXPECT_LE(v.onset_high, 62u);
  EXPECT_LT(v.p_value, 1e-3);
  EXPECT_FALSE(v.explanation.empty());
}

TEST(ChangeDetector, DirectionComesFromTheMetric) {
  const std::vector<double> up = Noisy(40, 10, 0.2, 3) + Noisy(8, 14, 0.2, 4);
  EXPECT_EQ(Feed(up, v1::BETTER_HIGHER).verdict->direction, v1::Finding::DIRECTION_BETTER);
  EXPECT_EQ(Feed(up, v1::BETTER_LOWER).verdict->direction, v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(Feed(up, v1::BETTER_UNSPECIFIED).verdict->direction, v1::Finding::DIRECTION_NEUTRAL);
  EXPECT_FALSE(Feed(up, v1::BETTER_NONE).verdict.has_value());
}

TEST(ChangeDetector, FindsAStepOfAConstantSeries) {
  const First first = Feed(std::vector<double>(20, 8.0) + std::vector<double>(5, 7.0));
  ASSERT_TRUE(first.verdict.has_value());
  EXPECT_EQ(first.at, 22u);
  EXPECT_EQ(first.verdict->onset_low, 19u);
  EXPECT_EQ(first.verdict->onset_high, 20u);
}

TEST(ChangeDetector, FindsAStepAwayFromZero) {
  const First first = Feed(std::vector<double>(20, 0.0) + std::vector<double>(5, 3.0), v1::BETTER_LOWER);
  ASSERT_TRUE(first.verdict.has_value());
  EXPECT_EQ(first.verdict->change, 3);  // a difference, as there is no ratio
  EXPECT_TRUE(std::isfinite(first.verdict->score));
}

TEST(ChangeDetector, SaysNothingOfConstantOrNearlyConstantSeries) {
  EXPECT_FALSE(Feed(std::vector<double>(200, 42.5)).verdict.has_value());
  std::vector<double> last_digit(200, 100.0);
  for (size_t i = 100; i < 200; ++i) last_digit[i] = 100.01;  // a hundredth of a percent
  EXPECT_FALSE(Feed(last_digit).verdict.has_value());
}

TEST(ChangeDetector, OneOrTwoOutliersAreNoChange) {
  std::vector<double> values = Noisy(100, 100, 1, 5);
  values[40] = 10;
  values[60] = values[61] = 10;
  EXPECT_FALSE(Feed(values).verdict.has_value());
}

TEST(ChangeDetector, KeepsSilentWhileWarmingUp) {
  EXPECT_FALSE(Feed(Noisy(6, 100, 1, 6) + Noisy(5, 50, 1, 7)).verdict.has_value());
  EXPECT_TRUE(Feed(Noisy(6, 100, 1, 6) + Noisy(5, 50, 1, 7), v1::BETTER_HIGHER, 0.01).verdict.has_value());
}

TEST(ChangeDetector, NegativeValuesAreComparedByDifference) {
  const First first = Feed(Noisy(40, -10, 0.5, 8) + Noisy(8, -15, 0.5, 9));
  ASSERT_TRUE(first.verdict.has_value());
  EXPECT_EQ(first.verdict->direction, v1::Finding::DIRECTION_WORSE);
  EXPECT_NEAR(first.verdict->change, 0.5, 0.1);  // after / before - 1
}

TEST(ChangeDetector, LongHistoriesKeepTheirIndices) {
  const First first = Feed(Noisy(350, 100, 2, 10) + Noisy(10, 70, 2, 11));
  ASSERT_TRUE(first.verdict.has_value());
  EXPECT_LT(first.verdict->onset_low, 350u);
  EXPECT_GE(first.verdict->onset_low, 345u);
  EXPECT_GE(first.verdict->onset_high, 350u);
}

TEST(EstimateNoise, IsOfLogarithmsWhereAllArePositive) {
  const RegimeNoise positive = EstimateNoise(Points(Noisy(500, 100, 2, 12)));
  EXPECT_TRUE(positive.logarithmic);
  EXPECT_NEAR(positive.scale, 0.02, 0.003);
  const RegimeNoise mixed = EstimateNoise(Points(Noisy(500, 0, 2, 13)));
  EXPECT_FALSE(mixed.logarithmic);
  EXPECT_NEAR(mixed.scale, 2, 0.3);
}

}  // namespace
}  // namespace fleetmark::collector
