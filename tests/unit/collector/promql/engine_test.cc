// What goes beyond the comparison with Prometheus: lookback by cadence, limits, time, staleness markers.
#include "collector/promql/engine.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/promql/value.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_series_source.h"

namespace fleetmark::collector::promql {
namespace {

using testing::HasSubstr;

constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kBegin = 1'790'000'000'000;

class EngineTest : public testing::Test {
 protected:
  void Fill(const std::string& name, const std::string& node, int64_t every_ms, int count) {
    for (int i = 0; i < count; ++i) {
      source_.Add(LabelSet({{"__name__", name}, {"node", node}}), {kBegin + i * every_ms, 1.0 * i});
    }
  }

  Engine MakeEngine() const { return Engine({.source = &source_, .clock = &clock_, .query = options_}); }

  // The values of an instant query, in order.
  std::vector<double> Values(const std::string& query, int64_t time_ms) const {
    std::vector<double> values;
    const auto result = MakeEngine().Instant(query, time_ms);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return values;
    for (const ResultSeries& series : result->series) values.push_back(series.points.at(0).value);
    return values;
  }

  absl::Status RangeStatus(const std::string& query, QueryRange range) const {
    return MakeEngine().Range(query, range).status();
  }

  MemorySeriesSource source_;
  FakeClock clock_;
  QueryOptions options_;
};

TEST_F(EngineTest, AutoLookbackFollowsTheSeriesOwnCadence) {
  Fill("hourly", "n1", kHourMs, 10);
  Fill("daily", "n1", 24 * kHourMs, 3);
  Fill("dense", "n1", 15'000, 10);
  Fill("once", "n1", 1, 1);
  const int64_t last_hourly = kBegin + 9 * kHourMs;
  EXPECT_THAT(Values("hourly", last_hourly + 2 * kHourMs), testing::ElementsAre(9));
  EXPECT_THAT(Values("hourly", last_hourly + 3 * kHourMs), testing::IsEmpty());
  EXPECT_THAT(Values("daily", kBegin + (48 + 59) * kHourMs), testing::ElementsAre(2));
  EXPECT_THAT(Values("daily", kBegin + (48 + 61) * kHourMs), testing::IsEmpty());
  // Never less than five minutes.
  EXPECT_THAT(Values("dense", kBegin + 9 * 15'000 + 299'000), testing::ElementsAre(9));
  EXPECT_THAT(Values("dense", kBegin + 9 * 15'000 + 301'000), testing::IsEmpty());
  // What came once is shown for a day.
  EXPECT_THAT(Values("once", kBegin + 23 * kHourMs), testing::ElementsAre(0));
  EXPECT_THAT(Values("once", kBegin + 25 * kHourMs), testing::IsEmpty());
}

TEST_F(EngineTest, AFixedLookbackHoldsForAll) {
  Fill("hourly", "n1", kHourMs, 10);
  options_.lookback = absl::Minutes(5);
  EXPECT_THAT(Values("hourly", kBegin + 5 * 60'000), testing::ElementsAre(0));
  EXPECT_THAT(Values("hourly", kBegin + 5 * 60'000 + 1), testing::IsEmpty());
}

TEST_F(EngineTest, AStalenessMarkerEndsTheSeries) {
  const LabelSet labels(std::vector<Label>{{"__name__", "foo"}});
  source_.Add(labels, {kBegin, 1});
  source_.Add(labels, {kBegin + 60'000, kAbsent});
  source_.Add(labels, {kBegin + 120'000, 3});
  options_.lookback = absl::Minutes(5);
  EXPECT_THAT(Values("foo", kBegin + 59'999), testing::ElementsAre(1));
  EXPECT_THAT(Values("foo", kBegin + 60'000), testing::IsEmpty());
  EXPECT_THAT(Values("foo", kBegin + 120'000), testing::ElementsAre(3));
  EXPECT_THAT(Values("count_over_time(foo[5m])", kBegin + 120'000), testing::ElementsAre(2));
}

TEST_F(EngineTest, LimitsAreRefusalsThatNameThem) {
  for (int i = 0; i < 20; ++i) Fill("foo", "n" + std::to_string(i), 60'000, 100);
  options_.max_series = 10;
  EXPECT_THAT(std::string(MakeEngine().Instant("foo", kBegin).status().message()),
              HasSubstr("more than 10 series"));
  options_.max_series = 100;
  options_.max_samples = 1000;
  const absl::Status samples = MakeEngine().Instant("rate(foo[2h])", kBegin + kHourMs).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(samples));
  EXPECT_THAT(std::string(samples.message()), HasSubstr("too many samples"));
  options_.max_samples = 1'000'000;
  options_.max_values = 1000;
  EXPECT_THAT(std::string(RangeStatus("foo", {kBegin, kBegin + kHourMs, 60'000}).message()),
              HasSubstr("more than 1000 values"));
  EXPECT_THAT(std::string(RangeStatus("foo", {kBegin, kBegin + 11'001'000, 1000}).message()),
              HasSubstr("maximum resolution of 11000 points"));
  EXPECT_THAT(
      std::string(MakeEngine().Instant("avg_over_time(vector(1)[10y:1ms])", kBegin).status().message()),
      HasSubstr("more than 1000 values"));
}

// Time passes with each series that is read.
class SlowSource final : public SeriesSource {
 public:
  SlowSource(const SeriesSource& inner, FakeClock& clock) : inner_(inner), clock_(clock) {}
  absl::StatusOr<std::vector<SelectedSeries>> Select(const Matchers& matchers, TimeSpan span,
                                                     size_t limit) const override {
    return inner_.Select(matchers, span, limit);
  }
  absl::Status Read(const SelectedSeries& series, TimeSpan span, size_t limit,
                    std::vector<Point>* points) const override {
    clock_.Advance(absl::Seconds(1));
    return inner_.Read(series, span, limit, points);
  }
  absl::StatusOr<std::vector<MetricMetadata>> Metadata() const override { return inner_.Metadata(); }

 private:
  const SeriesSource& inner_;
  FakeClock& clock_;
};

TEST_F(EngineTest, AQueryThatTakesTooLongEnds) {
  for (int i = 0; i < 20; ++i) Fill("foo", "n" + std::to_string(i), 60'000, 10);
  const SlowSource slow(source_, clock_);
  options_.timeout = absl::Seconds(10);
  const Engine engine({.source = &slow, .clock = &clock_, .query = options_});
  const absl::Status status = engine.Instant("sum(foo)", kBegin).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_TRUE(engine.Instant("sum(foo{node=~\"n[1-5]\"})", kBegin).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      engine.Instant("sum(foo{node=~\"n[1-5]\"})", kBegin, absl::Seconds(2)).status()));
}

TEST_F(EngineTest, WrongRangesAreBadData) {
  EXPECT_TRUE(absl::IsInvalidArgument(RangeStatus("foo", {kBegin, kBegin, 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(RangeStatus("foo", {kBegin, kBegin - 1, 1000})));
  EXPECT_TRUE(absl::IsInvalidArgument(RangeStatus("foo[5m]", {kBegin, kBegin, 1000})));
  EXPECT_TRUE(absl::IsInvalidArgument(RangeStatus("\"text\"", {kBegin, kBegin, 1000})));
}

}  // namespace
}  // namespace fleetmark::collector::promql
