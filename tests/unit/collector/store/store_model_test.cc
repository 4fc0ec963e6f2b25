// The store gives back the samples of any history of commits, late, at one time, sealed or not, as a plain
// list of them would, before and after it is opened again.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
constexpr int64_t kSecondNs = 1'000'000'000;

struct Point {
  int64_t time = 0;
  std::string run;
  double value = 0;
  double spread = 0;

  friend bool operator==(const Point&, const Point&) = default;
  friend bool operator<(const Point& a, const Point& b) {
    return std::tie(a.time, a.run) < std::tie(b.time, b.run);
  }
};

Point ToPoint(const v1::Sample& s) { return {s.time_unix_ns(), s.run_id(), s.value(), s.relative_spread()}; }

class StoreModelTest : public ::testing::Test {
 protected:
  StoreModelTest() {
    options_.folder = folder_.path() + "/store";
    options_.reserve_bytes = 0;
    Reopen();
  }

  void Reopen() {
    store_.reset();
    auto store = Store::Open(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  // A run at about `time`, with some of three metrics.
  v1::Run AnyRun(int64_t time) {
    v1::Run run = MakeRun(time, 0, 3);
    run.set_log_tail("");
    for (v1::Metric& metric : *run.mutable_metrics()) {
      metric.set_value(static_cast<double>(static_cast<int64_t>(rng_() % 100'000)) / 100);
      if (rng_() % 50 == 0) metric.set_value(1.0 / static_cast<double>(1 + rng_() % 1000));
      if (rng_() % 4 == 0) metric.set_relative_spread(0.01);
      metric.set_repetitions(rng_() % 4 == 0 ? 5 : 0);
    }
    if (rng_() % 5 == 0) run.mutable_metrics()->DeleteSubrange(static_cast<int>(rng_() % 3), 1);
    if (rng_() % 40 == 0) run.mutable_metrics()->SwapElements(0, 1);
    return run;
  }

  // Commits `runs` runs of one node, most in order, some late, some at one time, in batches.
  void CommitRuns(const std::string& node, int runs) {
    SenderRecords batch{node, kEpoch, {}};
    for (int i = 0; i < runs; ++i) {
      int64_t& clock = clocks_[node];
      clock += 900 * kSecondNs;
      int64_t time = kStartNs + clock;
      if (rng_() % 20 == 0) time -= static_cast<int64_t>(rng_() % 200) * 900 * kSecondNs;
      if (rng_() % 500 == 0) clock += 50 * 86'400 * kSecondNs;
      const v1::Run run = AnyRun(time);
      for (const v1::Metric& metric : run.metrics()) {
        expected_[{node, metric.name()}].push_back(
            {time, run.run_id(), metric.value(), metric.relative_spread()});
      }
      runs_.push_back(run);
      batch.records.push_back(RunRecord(++sequences_[node], run));
      if (batch.records.size() < 1 + rng_() % 20 && i + 1 < runs) continue;
      const auto result = store_->Commit({batch});
      ASSERT_TRUE(result.ok()) << result.status();
      batch.records.clear();
    }
    if (!batch.records.empty()) {
      ASSERT_TRUE(store_->Commit({batch}).ok());
    }
  }

  void ExpectSeries(const v1::Series& series, std::vector<Point> want) {
    std::sort(want.begin(), want.end());
    EXPECT_EQ(series.samples(), want.size());
    EXPECT_EQ(series.first_unix_ns(), want.front().time);
    EXPECT_EQ(series.last_unix_ns(), want.back().time);
    const int64_t low = want[rng_() % want.size()].time;
    const int64_t high = want[rng_() % want.size()].time;
    for (const auto& [from, to] :
         {std::pair(int64_t{0}, kForEver), std::pair(low, high), std::pair(low, low + 1)}) {
      std::vector<Point> in_range;
      for (const Point& point : want) {
        if (point.time >= from && point.time < to) in_range.push_back(point);
      }
      ExpectScan(series.series_id(), from, to, in_range);
    }
    const size_t count = 1 + rng_() % want.size();
    const auto last = store_->LastSamples(series.series_id(), high, count);
    ASSERT_TRUE(last.ok()) << last.status();
    const auto before =
        std::find_if(want.begin(), want.end(), [high](const Point& p) { return p.time >= high; });
    const auto there = static_cast<size_t>(before - want.begin());
    ASSERT_EQ(last->size(), std::min(count, there));
    for (size_t i = 0; i < last->size(); ++i) {
      EXPECT_EQ((*last)[i].time_unix_ns(), want[there - last->size() + i].time);
    }
  }

  // Samples at one time come in any order.
  void ExpectScan(uint64_t id, int64_t from, int64_t to, const std::vector<Point>& want) {
    std::vector<Point> got;
    ASSERT_TRUE(store_
                    ->ScanSamples(id, from, to,
                                  [&got](const v1::Sample& sample) {
                                    got.push_back(ToPoint(sample));
                                    return true;
                                  })
                    .ok());
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end(),
                               [](const Point& a, const Point& b) { return a.time < b.time; }));
    std::vector<double> values;
    ASSERT_TRUE(store_
                    ->ScanValues({id}, from, to,
                                 [&values](uint64_t, absl::Span<const int64_t>, absl::Span<const double> v) {
                                   values.assign(v.begin(), v.end());
                                   return true;
                                 })
                    .ok());
    ASSERT_EQ(values.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(values[i], got[i].value);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, want);
  }

  void ExpectEverything() {
    std::string token;
    const auto all = store_->ListSeries({}, Page{}, &token);
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(all->size(), expected_.size());
    for (const v1::Series& series : *all) {
      SCOPED_TRACE(absl::StrCat(series.key().node(), " ", series.key().metric()));
      ExpectSeries(series, expected_.at({series.key().node(), series.key().metric()}));
      if (HasFailure()) return;
    }
    for (int i = 0; i < 20; ++i) ExpectRun(runs_[rng_() % runs_.size()]);
  }

  void ExpectRun(const v1::Run& want) {
    const auto run = store_->GetRun(want.run_id());
    ASSERT_TRUE(run.ok()) << run.status();
    ASSERT_EQ(run->run().metrics().size(), want.metrics().size());
    for (int i = 0; i < want.metrics().size(); ++i) {
      EXPECT_EQ(run->run().metrics(i).SerializeAsString(), want.metrics(i).SerializeAsString());
    }
  }

  TempFolder folder_;
  Store::Options options_;
  std::unique_ptr<Store> store_;
  std::mt19937_64 rng_{5};
  std::map<std::string, int64_t> clocks_;
  std::map<std::string, uint64_t> sequences_;
  std::map<std::pair<std::string, std::string>, std::vector<Point>> expected_;
  std::vector<v1::Run> runs_;
};

TEST_F(StoreModelTest, AnyHistoryComesBack) {
  for (int round = 0; round < 6; ++round) {
    for (const char* node : {"n1", "n2"}) CommitRuns(node, 40 + static_cast<int>(rng_() % 500));
    ExpectEverything();
    if (HasFailure()) return;
    if (round % 2 == 0) Reopen();
    if (round == 3) {
      ASSERT_TRUE(store_->Compact().ok());
      ExpectEverything();
    }
    ExpectEverything();
    if (HasFailure()) return;
  }
  const auto counts = store_->Counts();
  EXPECT_EQ(counts->runs, runs_.size());
}

TEST_F(StoreModelTest, LatestIsTheNewestWhateverTheOrder) {
  ASSERT_TRUE(store_->Commit({SenderRecords{"n1", kEpoch, {RunRecord(1, MakeRun(kStartNs + 5, 7))}}}).ok());
  ASSERT_TRUE(store_->Commit({SenderRecords{"n1", kEpoch, {RunRecord(2, MakeRun(kStartNs + 1, 3))}}}).ok());
  for (int i = 0; i < 3; ++i) {
    const std::vector<LatestSample> latest = store_->Latest({1, 99});
    ASSERT_EQ(latest.size(), 1u);
    EXPECT_EQ(latest[0].time_unix_ns, kStartNs + 5);
    EXPECT_EQ(latest[0].value, 7);
    if (i == 0) {
      ASSERT_TRUE(store_->Compact().ok());
    }
    if (i == 1) Reopen();
  }
}

TEST_F(StoreModelTest, SelectGivesIdsOfSeries) {
  CommitRuns("n1", 3);
  CommitRuns("n2", 3);
  const auto ids = store_->Select({LabelMatcher{"metric", LabelMatcher::Op::kRegex, "m[01]"},
                                   LabelMatcher{"node", LabelMatcher::Op::kNotEqual, "n1"}});
  ASSERT_TRUE(ids.ok());
  ASSERT_EQ(ids->size(), 2u);
  for (const uint64_t id : *ids) EXPECT_EQ(store_->GetSeries(id)->key().node(), "n2");
  EXPECT_EQ(store_->LabelValues("node"), (std::vector<std::string>{"n1", "n2"}));
}

}  // namespace
}  // namespace fleetmark::collector
