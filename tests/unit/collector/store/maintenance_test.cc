// What the store makes and drops by itself: tiers that say what the samples said, and nothing kept for longer
// than it is to be.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "collector/store/tiers.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
// A midnight.
constexpr int64_t kDay0 = kStartNs / kDayNs * kDayNs;

class MaintenanceTest : public ::testing::Test {
 protected:
  MaintenanceTest() {
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

  CommitResult Commit(const std::string& node, int64_t time, double value) {
    const auto result =
        store_->Commit({SenderRecords{node, kEpoch, {RunRecord(++sequences_[node], MakeRun(time, value))}}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(CommitResult());
  }

  MaintenanceResult Maintain(int64_t now) {
    const auto result = store_->Maintain(now);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(MaintenanceResult());
  }

  std::vector<TierSummary> Read(uint64_t series, Tier tier) {
    const auto summaries = store_->ReadTier(series, tier, 0, kForEver);
    EXPECT_TRUE(summaries.ok()) << summaries.status();
    return summaries.value_or(std::vector<TierSummary>());
  }

  size_t Samples(uint64_t series) {
    size_t count = 0;
    EXPECT_TRUE(store_
                    ->ScanSamples(series, 0, kForEver,
                                  [&count](const v1::Sample&) {
                                    ++count;
                                    return true;
                                  })
                    .ok());
    return count;
  }

  TempFolder folder_;
  Store::Options options_;
  std::unique_ptr<Store> store_;
  std::map<std::string, uint64_t> sequences_;
};

TEST_F(MaintenanceTest, TiersSayWhatTheSamplesSaid) {
  std::mt19937_64 rng(3);
  std::map<int64_t, std::vector<double>> by_hour;
  std::map<int64_t, std::vector<double>> by_day;
  for (int i = 0; i < 40 * 24; ++i) {
    const int64_t time = kDay0 + i * kHourNs + static_cast<int64_t>(rng() % static_cast<uint64_t>(kHourNs));
    const auto value = static_cast<double>(rng() % 1000);
    Commit("n1", time, value);
    by_hour[time / kHourNs * kHourNs].push_back(value);
    by_day[time / kDayNs * kDayNs].push_back(value);
  }
  const int64_t now = kDay0 + 40 * kDayNs + 2 * kHourNs;
  EXPECT_EQ(Maintain(now).days_summarised, 40u);
  EXPECT_EQ(Maintain(now).days_summarised, 0u);
  Reopen();
  for (const auto& [tier, expected] : {std::pair(Tier::kHourly, by_hour), std::pair(Tier::kDaily, by_day)}) {
    const std::vector<TierSummary> summaries = Read(1, tier);
    ASSERT_EQ(summaries.size(), expected.size());
    auto it = expected.begin();
    for (const TierSummary& summary : summaries) {
      std::vector<double> values = (it++)->second;
      std::sort(values.begin(), values.end());
      EXPECT_EQ(summary.count, values.size());
      EXPECT_EQ(summary.min, values.front());
      EXPECT_EQ(summary.max, values.back());
      const size_t middle = values.size() / 2;
      EXPECT_EQ(summary.median,
                values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2);
    }
  }
  const auto some = store_->ReadTier(1, Tier::kDaily, kDay0 + 3 * kDayNs, kDay0 + 5 * kDayNs);
  ASSERT_TRUE(some.ok());
  ASSERT_THAT(*some, SizeIs(2));
  EXPECT_EQ((*some)[0].begin_unix_ns, kDay0 + 3 * kDayNs);
}

TEST_F(MaintenanceTest, ADayIsSummarisedOnceItHasEndedAndAgainForLateSamples) {
  Commit("n1", kDay0 + kHourNs, 5);
  Commit("n1", kDay0 + 2 * kHourNs, 7);
  EXPECT_EQ(Maintain(kDay0 + 24 * kHourNs).days_summarised, 0u);
  EXPECT_EQ(Maintain(kDay0 + 25 * kHourNs).days_summarised, 1u);
  ASSERT_THAT(Read(1, Tier::kDaily), SizeIs(1));
  EXPECT_EQ(Read(1, Tier::kDaily)[0].median, 6);
  Commit("n1", kDay0 + 3 * kHourNs, 100);
  EXPECT_EQ(Maintain(kDay0 + 26 * kHourNs).days_summarised, 1u);
  EXPECT_EQ(Read(1, Tier::kDaily)[0].median, 7);
  EXPECT_EQ(Read(1, Tier::kDaily)[0].max, 100);
  EXPECT_THAT(Read(1, Tier::kHourly), SizeIs(3));
}

TEST_F(MaintenanceTest, EachKindIsKeptForItsTime) {
  options_.retention.raw = absl::Hours(24 * 10);
  options_.retention.hourly = absl::Hours(24 * 20);
  options_.retention.runs = absl::Hours(24 * 5);
  Reopen();
  for (int day = 0; day < 40; ++day) {
    for (int i = 0; i < 20; ++i) Commit("n1", kDay0 + day * kDayNs + i * kHourNs, i);
  }
  ASSERT_TRUE(store_->PutEvent(MakeEvent("n1", kDay0)).ok());
  ASSERT_TRUE(store_->Compact().ok());
  const int64_t now = kDay0 + 40 * kDayNs + 2 * kHourNs;
  const MaintenanceResult result = Maintain(now);
  EXPECT_GT(result.chunks_dropped, 0u);
  EXPECT_EQ(result.events_dropped, 0u);
  EXPECT_EQ(result.runs_dropped, 20u * 35 + 2);  // those before 02:00 of the sixth day from the end
  EXPECT_EQ(store_->Counts()->runs, 800u - result.runs_dropped);
  v1::ListRunsRequest all;
  std::string token;
  EXPECT_EQ(store_->ListRuns(all, Page{1000, ""}, &token)->size(), store_->Counts()->runs);
  // A chunk goes with the last of its samples; none has more than 512.
  EXPECT_GE(Samples(1), 200u);
  EXPECT_LT(Samples(1), 200u + 512u);
  EXPECT_THAT(Read(1, Tier::kDaily), SizeIs(40));
  EXPECT_LE(Read(1, Tier::kHourly).size(), 20u * 21);
  EXPECT_GE(Read(1, Tier::kHourly).size(), 20u * 19);
  EXPECT_EQ(store_->Counts()->series, 1u);
  Reopen();
  EXPECT_GE(Samples(1), 200u);
}

TEST_F(MaintenanceTest, WhatIsTooOldIsNotTakenAndCounted) {
  options_.retention.raw = absl::Hours(24 * 10);
  options_.retention.runs = absl::Hours(24 * 20);
  Reopen();
  Maintain(kDay0 + 100 * kDayNs);
  CommitResult result = Commit("n1", kDay0 + 85 * kDayNs, 1);
  EXPECT_EQ(result.samples_too_old, 1u);
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.samples, 0u);
  result = Commit("n1", kDay0 + 70 * kDayNs, 1);
  EXPECT_EQ(result.too_old, 1u);
  EXPECT_EQ(result.runs, 0u);
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 2u);
}

TEST_F(MaintenanceTest, ASeriesThatFellSilentIsRemovedAndNothingOfItStays) {
  options_.retention.raw = absl::Hours(24 * 10);
  options_.retention.series = absl::Hours(24 * 30);
  Reopen();
  for (int node = 0; node < 20; ++node) {
    for (int i = 0; i < 5; ++i) Commit(absl::StrCat("old", node), kDay0 + i * kHourNs, i);
  }
  Commit("n1", kDay0 + 50 * kDayNs, 1);
  EXPECT_EQ(store_->Counts()->series, 21u);
  const int64_t now = kDay0 + 51 * kDayNs;
  MaintenanceResult result = Maintain(now);
  result.series_dropped += Maintain(now).series_dropped;
  EXPECT_EQ(result.series_dropped, 20u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(store_->Counts()->series, 1u);
    std::string token;
    EXPECT_THAT(*store_->ListSeries({}, Page{}, &token), SizeIs(1));
    EXPECT_EQ(store_->LabelValues("node"), std::vector<std::string>{"n1"});
    EXPECT_EQ(store_->GetSeries(1).status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(Read(1, Tier::kDaily), IsEmpty());
    EXPECT_EQ(Samples(1), 0u);
    Reopen();
  }
  // The node comes back: its series begins anew.
  EXPECT_EQ(Commit("old1", now, 9).series_created, 1u);
}

TEST_F(MaintenanceTest, ALargeStoreIsKeptForAShorterTime) {
  options_.retention.max_bytes = 1;
  Reopen();
  for (int day = 0; day < 20; ++day) Commit("n1", kDay0 + day * kDayNs, day);
  const MaintenanceResult result = Maintain(kDay0 + 20 * kDayNs);
  EXPECT_TRUE(result.shortened);
  EXPECT_EQ(result.runs_dropped, 19u);  // the last day stays
  EXPECT_EQ(store_->Counts()->runs, 1u);
}

TEST_F(MaintenanceTest, ABackupIsTheStoreAsItWas) {
  for (int i = 0; i < 300; ++i) Commit("n1", kDay0 + i * kHourNs, i);
  const std::string copy = folder_.path() + "/copy";
  ASSERT_TRUE(store_->Backup(copy).ok());
  EXPECT_EQ(store_->Backup(copy).code(), absl::StatusCode::kAlreadyExists);
  for (int i = 300; i < 400; ++i) Commit("n1", kDay0 + i * kHourNs, i);
  EXPECT_EQ(Samples(1), 400u);
  options_.folder = copy;
  Reopen();
  EXPECT_EQ(Samples(1), 300u);
  EXPECT_EQ(*store_->Watermark("n1", kEpoch), 300u);
  sequences_["n1"] = 300;
  EXPECT_EQ(Commit("n1", kDay0 + 300 * kHourNs, 300).runs, 1u);  // as the agent would send it again
}

}  // namespace
}  // namespace fleetmark::collector
