#include "bench/schedule/start_spread.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace fleetmark::bench {
namespace {

TEST(StartSpread, TheDefaultSuiteSpreadsOverTheHour) {
  const std::string suite = std::string(getenv("FM_SOURCE_DIR")) + "/configs/suites/default.yaml";
  const auto spreads = MeasureStartSpread(suite, 2000, absl::Hours(24));
  ASSERT_TRUE(spreads.ok()) << spreads.status();
  ASSERT_GE(spreads->size(), 3u);
  uint64_t sum = 0;
  for (size_t i = 0; i + 1 < spreads->size(); ++i) {
    const StartSpread& one = (*spreads)[i];
    sum += one.starts;
    // Every node at its schedule's pace: once or twice an hour.
    EXPECT_EQ(one.starts % (2000u * 24u), 0u) << one.benchmark;
  }
  const StartSpread& all = spreads->back();
  EXPECT_EQ(all.starts, sum);
  EXPECT_LE(all.ratio(), 1.5);
  EXPECT_GT(all.smallest_minute, 0u);
}

TEST(StartSpread, WrongInputIsToldApart) {
  EXPECT_FALSE(MeasureStartSpread("/nonexistent.yaml", 10, absl::Hours(1)).ok());
  EXPECT_FALSE(MeasureStartSpread("/nonexistent.yaml", 0, absl::Hours(1)).ok());
}

}  // namespace
}  // namespace fleetmark::bench
