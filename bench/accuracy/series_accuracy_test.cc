// Holds the analysis of whole series to the figures in docs/detection.md, with room for another seed's luck;
// and the scores to values worked out by hand.
#include <vector>

#include "gtest/gtest.h"

#include "bench/accuracy/scoring.h"
#include "bench/accuracy/synthetic_series.h"
#include "common/detect/series_analysis.h"

namespace fleetmark::bench {
namespace {

Cuts Changes(const std::vector<double>& values) {
  Cuts cuts;
  for (const detect::SeriesFinding& f : detect::AnalyseSeries(values, {})) {
    if (f.kind == detect::Kind::kChange) cuts.push_back(f.index);
  }
  return cuts;
}

double FoundShare(Family family, double step) {
  size_t found = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    std::vector<double> values = MakeSeries(family, 200, 40'000 + i);
    for (size_t k = 120; k < values.size(); ++k) values[k] -= step * kNoise;
    found += Matched({120}, Changes(values), 5);
  }
  return static_cast<double>(found) / 100;
}

TEST(SeriesAccuracy, UnchangedSeriesStayQuiet) {
  for (Family family : kFamilies) {
    if (family == Family::kSticky) continue;  // its spells are changes of level; see docs/detection.md
    size_t said = 0;
    for (uint64_t i = 0; i < 100; ++i) said += Changes(MakeSeries(family, 200, 30'000 + i)).size();
    EXPECT_LE(1000.0 * static_cast<double>(said) / (100 * 200), 0.75) << NameOf(family);
  }
}

TEST(SeriesAccuracy, StepsAreFound) {
  EXPECT_GE(FoundShare(Family::kGauss, 1), 0.62);
  EXPECT_GE(FoundShare(Family::kGauss, 2), 0.97);
  EXPECT_GE(FoundShare(Family::kArOutliers, 2), 0.75);
  EXPECT_GE(FoundShare(Family::kArOutliers, 3), 0.92);
  EXPECT_GE(FoundShare(Family::kBimodal, 3), 0.92);
}

// The worked examples of the published benchmark's own tests.
TEST(Scoring, AgreesWithThePublishedExamples) {
  EXPECT_NEAR(F1Score({{10, 20}, {11, 20}, {10}, {0, 5}}, {10, 20}, 5), 1.0, 1e-12);
  EXPECT_NEAR(F1Score({{}, {10}, {50}}, {10}, 5), 10.0 / 11, 1e-12);
  EXPECT_NEAR(F1Score({{}, {10}, {50}}, {}, 5), 0.8, 1e-12);
  EXPECT_NEAR(Covering({{10, 20}, {10}, {0, 5}}, {10, 20}, 45), 0.7962962962962963, 1e-12);
  EXPECT_NEAR(Covering({{}, {10}, {40}}, {10}, 45), 0.7954144620811286, 1e-12);
  EXPECT_NEAR(Covering({{}, {10}, {40}}, {}, 45), 0.8189300411522634, 1e-12);
}

}  // namespace
}  // namespace fleetmark::bench
