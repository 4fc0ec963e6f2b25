// The store's listings: order, filters, pages.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoreListTest : public ::testing::Test {
 protected:
  StoreListTest() {
    Store::Options options;
    options.folder = folder_.path();
    store_ = *Store::Open(options);
  }

  void PutNode(const std::string& name, const std::string& rack) {
    v1::Node node;
    node.mutable_identity()->set_name(name);
    (*node.mutable_identity()->mutable_labels())["rack"] = rack;
    ASSERT_TRUE(store_->PutNode(node).ok());
  }

  void Commit(const std::string& node, uint64_t sequence, v1::Run run) {
    ASSERT_TRUE(store_->Commit({SenderRecords{node, kEpoch, {RunRecord(sequence, std::move(run))}}}).ok());
  }

  // The started times, less kStartNs, of all pages of `limit`.
  std::vector<int64_t> RunTimes(const v1::ListRunsRequest& filter, uint32_t limit) {
    std::vector<int64_t> times;
    Page page{limit, ""};
    do {
      const auto runs = store_->ListRuns(filter, page, &page.token);
      EXPECT_TRUE(runs.ok()) << runs.status();
      if (!runs.ok()) break;
      EXPECT_LE(runs->size(), limit);
      for (const v1::NodeRun& run : *runs) {
        EXPECT_TRUE(run.run().log_tail().empty());
        times.push_back(run.run().started_unix_ns() - kStartNs);
      }
    } while (!page.token.empty());
    return times;
  }

  std::vector<uint64_t> SeriesIds(const v1::Selector& selector, uint32_t limit) {
    std::vector<uint64_t> ids;
    Page page{limit, ""};
    do {
      const auto series = store_->ListSeries(selector, page, &page.token);
      EXPECT_TRUE(series.ok()) << series.status();
      if (!series.ok()) break;
      for (const v1::Series& one : *series) ids.push_back(one.series_id());
    } while (!page.token.empty());
    return ids;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreListTest, RunsNewestFirstWhateverTheirNodeAndOrderOfArrival) {
  Commit("n1", 1, MakeRun(kStartNs + 3));
  Commit("n2", 1, MakeRun(kStartNs + 1));
  Commit("n1", 2, MakeRun(kStartNs + 2));
  v1::Run failed = MakeRun(kStartNs + 4);
  failed.set_outcome(v1::OUTCOME_FAILED);
  failed.set_benchmark("gemm");
  Commit("n2", 2, failed);
  for (const uint32_t limit : {1, 2, 3, 4, 5}) {
    v1::ListRunsRequest filter;
    EXPECT_THAT(RunTimes(filter, limit), ElementsAre(4, 3, 2, 1)) << limit;
    filter.set_node("n1");
    EXPECT_THAT(RunTimes(filter, limit), ElementsAre(3, 2)) << limit;
    filter.set_outcome(v1::OUTCOME_FAILED);
    EXPECT_THAT(RunTimes(filter, limit), IsEmpty()) << limit;
    filter.clear_node();
    EXPECT_THAT(RunTimes(filter, limit), ElementsAre(4)) << limit;
    filter.set_benchmark("stream");
    EXPECT_THAT(RunTimes(filter, limit), IsEmpty()) << limit;
  }
}

TEST_F(StoreListTest, TheRangeIncludesItsBeginningAndNotItsEnd) {
  for (uint64_t i = 1; i <= 5; ++i) Commit("n1", i, MakeRun(kStartNs + static_cast<int64_t>(i)));
  v1::ListRunsRequest filter;
  filter.mutable_range()->set_from_unix_ns(kStartNs + 2);
  filter.mutable_range()->set_to_unix_ns(kStartNs + 4);
  EXPECT_THAT(RunTimes(filter, 1), ElementsAre(3, 2));
  filter.set_node("n1");
  EXPECT_THAT(RunTimes(filter, 1), ElementsAre(3, 2));
}

// "n" is a prefix of "n1"; their keys must not mix.
TEST_F(StoreListTest, ANodeIsNotItsPrefix) {
  Commit("n", 1, MakeRun(kStartNs + 1));
  Commit("n1", 1, MakeRun(kStartNs + 2));
  v1::ListRunsRequest filter;
  filter.set_node("n");
  EXPECT_THAT(RunTimes(filter, 10), ElementsAre(1));
  v1::Selector selector;
  selector.set_node("n");
  EXPECT_THAT(SeriesIds(selector, 10), ElementsAre(1));
}

TEST_F(StoreListTest, SeriesBySelector) {
  PutNode("n1", "a");
  PutNode("n2", "b");
  v1::Run run = MakeRun(kStartNs, 1, 2);
  (*run.mutable_metrics(1)->mutable_labels())["device"] = "gpu0";
  Commit("n1", 1, run);  // series 1 and 2
  run.set_run_id(NewUlid(absl::FromUnixNanos(kStartNs)));
  Commit("n2", 1, run);  // series 3 and 4
  run.set_run_id(NewUlid(absl::FromUnixNanos(kStartNs)));
  run.set_benchmark("gemm");
  Commit("n1", 2, run);  // series 5 and 6
  for (const uint32_t limit : {1, 2, 10}) {
    v1::Selector selector;
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(1, 2, 3, 4, 5, 6));
    selector.set_metric("m1");
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(2, 4, 6));
    selector.set_node("n1");
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(2, 6));
    selector.set_benchmark("gemm");
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(6));
    selector.Clear();
    (*selector.mutable_labels())["device"] = "gpu0";
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(2, 4, 6));
    (*selector.mutable_node_labels())["rack"] = "b";
    EXPECT_THAT(SeriesIds(selector, limit), ElementsAre(4));
    selector.set_node("n1");
    EXPECT_THAT(SeriesIds(selector, limit), IsEmpty());
  }
}

TEST_F(StoreListTest, SamplesOfARangeAndTheLastOnes) {
  for (uint64_t i = 1; i <= 5; ++i) {
    Commit("n1", i, MakeRun(kStartNs + static_cast<int64_t>(i), static_cast<double>(i), 2));
  }
  std::vector<double> values;
  const auto visit = [&values](const v1::Sample& sample) {
    values.push_back(sample.value());
    return values.size() < 3;
  };
  ASSERT_TRUE(store_->ScanSamples(1, kStartNs + 2, kStartNs + 4, visit).ok());
  EXPECT_THAT(values, ElementsAre(2, 3));
  values.clear();
  ASSERT_TRUE(store_->ScanSamples(1, kStartNs, kStartNs + 100, visit).ok());
  EXPECT_THAT(values, ElementsAre(1, 2, 3));  // visit ended it

  const auto last = store_->LastSamples(2, kStartNs + 5, 2);
  ASSERT_TRUE(last.ok());
  ASSERT_EQ(last->size(), 2u);
  EXPECT_EQ((*last)[0].value(), 3);
  EXPECT_EQ((*last)[1].value(), 4);
  EXPECT_EQ(store_->LastSamples(2, kStartNs + 100, 100)->size(), 5u);
  EXPECT_TRUE(store_->LastSamples(3, kStartNs + 100, 100)->empty());
}

TEST_F(StoreListTest, EventsNewestFirst) {
  ASSERT_TRUE(store_->PutEvent(MakeEvent("n1", kStartNs + 1)).ok());
  ASSERT_TRUE(store_->PutEvent(MakeEvent("", kStartNs + 3)).ok());
  const v1::Event last = MakeEvent("n2", kStartNs + 2);
  ASSERT_TRUE(store_->PutEvent(last).ok());
  ASSERT_TRUE(store_->PutEvent(last).ok());  // replaces itself
  std::vector<int64_t> times;
  Page page{1, ""};
  do {
    const auto events = store_->ListEvents({}, page, &page.token);
    ASSERT_TRUE(events.ok());
    for (const auto& event : *events) times.push_back(event.time_unix_ns() - kStartNs);
  } while (!page.token.empty());
  EXPECT_THAT(times, ElementsAre(3, 2, 1));
  v1::ListEventsRequest filter;
  filter.set_node("n2");
  std::string token;
  EXPECT_EQ(store_->ListEvents(filter, Page{}, &token)->size(), 1u);
}

TEST_F(StoreListTest, FindingsNewestFirstByStateAndNodeLabels) {
  PutNode("n1", "a");
  PutNode("n2", "b");
  std::vector<v1::Finding> findings;
  for (int i = 0; i < 4; ++i) {
    v1::Finding& finding = findings.emplace_back();
    finding.set_finding_id(NewUlid(absl::FromUnixNanos(kStartNs) + absl::Seconds(i)));
    finding.set_found_unix_ns(kStartNs + i);
    finding.mutable_series()->set_node(i % 2 == 0 ? "n1" : "n2");
    finding.set_state(i < 2 ? v1::Finding::STATE_CLOSED : v1::Finding::STATE_OPEN);
  }
  ASSERT_TRUE(store_->PutEvaluation({1, 0, "", findings}).ok());
  const auto found = [this](const v1::ListFindingsRequest& filter) {
    std::vector<int64_t> times;
    Page page{1, ""};
    do {
      const auto listed = store_->ListFindings(filter, page, &page.token);
      EXPECT_TRUE(listed.ok()) << listed.status();
      if (!listed.ok()) break;
      for (const v1::Finding& finding : *listed) {
        times.push_back(finding.found_unix_ns() - kStartNs);
      }
    } while (!page.token.empty());
    return times;
  };
  v1::ListFindingsRequest filter;
  EXPECT_THAT(found(filter), ElementsAre(3, 2, 1, 0));
  filter.set_state(v1::Finding::STATE_OPEN);
  EXPECT_THAT(found(filter), ElementsAre(3, 2));
  (*filter.mutable_selector()->mutable_node_labels())["rack"] = "a";
  EXPECT_THAT(found(filter), ElementsAre(2));
  filter.clear_state();
  filter.mutable_range()->set_to_unix_ns(kStartNs + 2);
  EXPECT_THAT(found(filter), ElementsAre(0));
}

TEST_F(StoreListTest, NodesInOrderOfTheirNames) {
  for (const char* name : {"c", "a", "b"}) PutNode(name, "x");
  std::vector<std::string> names;
  Page page{2, ""};
  do {
    const auto nodes = store_->ListNodes(page, &page.token);
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    for (const v1::Node& node : *nodes) names.push_back(node.identity().name());
  } while (!page.token.empty());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_F(StoreListTest, UnknownThingsAndForeignTokensAreTold) {
  EXPECT_EQ(store_->GetNode("x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetSeries(1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetRun(NewUlid(absl::UnixEpoch())).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetRun("x").status().code(), absl::StatusCode::kInvalidArgument);
  std::string token;
  EXPECT_EQ(store_->ListRuns({}, Page{1, "*not base64*"}, &token).status().code(),
            absl::StatusCode::kInvalidArgument);
  v1::ListRunsRequest filter;
  filter.set_node("n1");
  EXPECT_EQ(store_->ListRuns(filter, Page{1, "YWJj"}, &token).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fleetmark::collector
