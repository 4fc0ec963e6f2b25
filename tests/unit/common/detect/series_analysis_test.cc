#include "common/detect/series_analysis.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::detect {
namespace {

std::vector<double> Noise(size_t n, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(100 + normal(rng));
  return values;
}

std::vector<SeriesFinding> OfKind(const std::vector<SeriesFinding>& all, Kind kind) {
  std::vector<SeriesFinding> some;
  for (const SeriesFinding& f : all) {
    if (f.kind == kind) some.push_back(f);
  }
  return some;
}

TEST(AnalyseSeries, StatesAStepWithItsPlaceSizeAndProbability) {
  std::vector<double> values = Noise(120, 1);
  for (size_t i = 80; i < 120; ++i) values[i] -= 6;
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 1u);
  const SeriesFinding& f = found[0];
  EXPECT_EQ(f.kind, Kind::kChange);
  EXPECT_EQ(f.index, 80u);
  EXPECT_LE(f.onset_low, 80u);
  EXPECT_GE(f.onset_high, 80u);
  EXPECT_NEAR(f.after - f.before, -6, 0.7);
  EXPECT_LT(f.change_low, -6);
  EXPECT_GT(f.change_high, -6.5);
  EXPECT_LT(f.p_value, 1e-6);
  EXPECT_TRUE(f.lasting);
}

TEST(AnalyseSeries, ThreeSamplesOfALargeStepAreEnough) {
  std::vector<double> values = Noise(60, 2);
  for (size_t i = 57; i < 60; ++i) values[i] -= 10;
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 57u);
}

TEST(AnalyseSeries, ASpellThatGoesAwayIsNotLasting) {
  std::vector<double> values = Noise(150, 3);
  for (size_t i = 70; i < 95; ++i) values[i] += 7;
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[0].lasting);
  EXPECT_EQ(found[1].index, 95u);
}

TEST(AnalyseSeries, SingleWildValuesAreNoFinding) {
  std::vector<double> values = Noise(150, 4);
  for (size_t i : {10, 50, 51, 120}) values[i] += 40;
  EXPECT_TRUE(AnalyseSeries(values, {}).empty());
}

TEST(AnalyseSeries, ADriftIsADriftAndNoStaircase) {
  std::vector<double> values = Noise(300, 5);
  for (size_t i = 0; i < 300; ++i) values[i] += 0.05 * static_cast<double>(i);
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Kind::kDrift);
  EXPECT_NEAR(found[0].after - found[0].before, 15, 1);
}

TEST(AnalyseSeries, ADriftThatBecomesFasterIsOneDrift) {
  std::vector<double> values = Noise(300, 8);
  for (size_t i = 0; i < 300; ++i) {
    values[i] += 0.05 * static_cast<double>(i) + (i > 150 ? 0.3 * static_cast<double>(i - 150) : 0);
  }
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Kind::kDrift);
  EXPECT_EQ(found[0].index, 0u);
  EXPECT_NEAR(found[0].after - found[0].before, 60, 4);  // to its end, not to the bend
  EXPECT_TRUE(found[0].lasting);
}

TEST(AnalyseSeries, MoreSpreadAroundTheSameLevelIsItsOwnKind) {
  std::vector<double> values = Noise(240, 6);
  for (size_t i = 120; i < 240; ++i) values[i] = 100 + 4 * (values[i] - 100);
  const std::vector<SeriesFinding> found = AnalyseSeries(values, {});
  EXPECT_TRUE(OfKind(found, Kind::kChange).empty());
  const std::vector<SeriesFinding> spread = OfKind(found, Kind::kSpread);
  ASSERT_EQ(spread.size(), 1u);
  EXPECT_NEAR(static_cast<double>(spread[0].index), 120, 8);
  EXPECT_NEAR(spread[0].after / spread[0].before, 4, 1.5);
}

TEST(AnalyseSeries, ASmallerBudgetStatesLess) {
  size_t loose = 0, strict = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<double> values = Noise(100, 100 + seed);
    for (size_t i = 60; i < 100; ++i) values[i] += 1.1;
    loose += AnalyseSeries(values, {1.0}).size();
    strict += AnalyseSeries(values, {1e-6}).size();
  }
  EXPECT_GT(loose, strict + 5);
}

TEST(AnalyseSeries, ScaleAndSignMakeNoDifference) {
  std::vector<double> values = Noise(120, 7);
  for (size_t i = 60; i < 120; ++i) values[i] += 3;
  std::vector<double> other;
  for (double v : values) other.push_back(-1000 * v);
  const auto a = AnalyseSeries(values, {}), b = AnalyseSeries(other, {});
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].index, b[i].index);
}

TEST(AnalyseSeries, ConstantShortAndLongSeries) {
  EXPECT_TRUE(AnalyseSeries(std::vector<double>(200, 5.0), {}).empty());
  EXPECT_TRUE(AnalyseSeries(std::vector<double>(200, 0.0), {}).empty());
  EXPECT_TRUE(AnalyseSeries(Noise(5, 8), {}).empty());
  EXPECT_TRUE(AnalyseSeries({}, {}).empty());
  std::vector<double> values = Noise(10'000, 9);
  for (size_t i = 6000; i < values.size(); ++i) values[i] += 4;
  const auto found = OfKind(AnalyseSeries(values, {}), Kind::kChange);
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [](const SeriesFinding& f) { return f.index > 5990 && f.index < 6010; }),
            1);
  EXPECT_LE(found.size(), 3u);
}

TEST(AnalyseSeries, AStepBetweenConstantsHasFullConfidence) {
  std::vector<double> values(60, 0.0);
  for (size_t i = 40; i < 60; ++i) values[i] = 1;
  const auto found = AnalyseSeries(values, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 40u);
  EXPECT_LT(found[0].p_value, 1e-9);
}

}  // namespace
}  // namespace fleetmark::detect
