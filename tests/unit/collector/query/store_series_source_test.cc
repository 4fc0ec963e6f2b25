#include "collector/query/store_series_source.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/promql/engine.h"
#include "collector/promql/parser.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using promql::Matchers;
using promql::SelectedSeries;

constexpr int64_t kFirstMs = kFirstRunNs / 1'000'000;

class StoreSeriesSourceTest : public StoreFixture {
 protected:
  std::vector<SelectedSeries> Select(const std::string& selector) {
    const absl::StatusOr<Matchers> matchers = promql::ParseSelector(selector);
    EXPECT_TRUE(matchers.ok()) << matchers.status();
    auto found = source_.Select(*matchers, {0, kFirstMs * 2}, 100);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : std::vector<SelectedSeries>();
  }

  FakeClock clock_;
  StoreSeriesSource source_{*store_, clock_};
};

TEST_F(StoreSeriesSourceTest, NamesLabelsCadenceAndSamples) {
  AddNode("n1", "r7");
  AddRuns("n1", "stream", {1.5, 2.5, 3.5});
  const auto found = Select("fleetmark_stream_bandwidth_gigabytes_per_second{node_rack=\"r7\"}");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].metric->Get("node"), "n1");
  EXPECT_EQ(found[0].metric->Get("benchmark"), "stream");
  EXPECT_EQ(found[0].interval_ms, 60'000);
  std::vector<promql::Point> points;
  ASSERT_TRUE(source_.Read(found[0], {kFirstMs, kFirstMs + 60'000}, 100, &points).ok());
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].time_ms, kFirstMs + 60'000);
  EXPECT_EQ(points[1].value, 2.5);
  points.clear();
  EXPECT_TRUE(absl::IsResourceExhausted(source_.Read(found[0], {0, kFirstMs * 2}, 2, &points)));
  EXPECT_EQ(points.size(), 2U);
  const auto metadata = source_.Metadata();
  ASSERT_TRUE(metadata.ok());
  ASSERT_EQ(metadata->size(), 1U);
  EXPECT_EQ((*metadata)[0].unit, "GB/s");
}

TEST_F(StoreSeriesSourceTest, NewSeriesShowAtOnceAndChangedNodesWithinAMinute) {
  AddNode("n1", "r7");
  AddRuns("n1", "stream", {1});
  EXPECT_EQ(Select("{node=~\".+\"}").size(), 1U);
  AddRuns("n1", "other", {1});
  EXPECT_EQ(Select("{node=~\".+\"}").size(), 2U);
  AddNode("n1", "r8");
  clock_.Advance(absl::Seconds(61));
  EXPECT_EQ(Select("{node_rack=\"r8\"}").size(), 2U);
  EXPECT_EQ(Select("{node_rack=\"r7\"}").size(), 0U);
}

TEST_F(StoreSeriesSourceTest, TooManySeriesAreRefused) {
  AddNode("n1", "r7");
  AddRuns("n1", "a", {1});
  AddRuns("n1", "b", {1});
  EXPECT_TRUE(absl::IsResourceExhausted(source_.Select({}, {0, 1}, 1).status()));
}

TEST_F(StoreSeriesSourceTest, TimesFarBeyondTheClockAreNoTrouble) {
  AddNode("n1", "r7");
  AddRuns("n1", "stream", {1, 2});
  const auto found = Select("{node=\"n1\"}");
  ASSERT_EQ(found.size(), 1U);
  std::vector<promql::Point> points;
  constexpr int64_t kFar = 9'000'000'000'000'000;
  EXPECT_TRUE(source_.Read(found[0], {-kFar, kFar}, 100, &points).ok());
  EXPECT_EQ(points.size(), 2U);
}

TEST_F(StoreSeriesSourceTest, Queries) {
  AddNode("n1", "r7");
  AddNode("n2", "r7");
  AddRuns("n1", "stream", {10, 20});
  AddRuns("n2", "stream", {30, 40});
  const promql::Engine engine({.source = &source_, .clock = &clock_, .query = {}});
  const auto result = engine.Instant("avg by (node_rack) (fleetmark_stream_bandwidth_gigabytes_per_second)",
                                     kFirstMs + 4 * 60'000);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->series.size(), 1U);
  EXPECT_EQ(result->series[0].points[0].value, 30);
  EXPECT_EQ(result->series[0].metric->ToString(), "{node_rack=\"r7\"}");
}

}  // namespace
}  // namespace fleetmark::collector
