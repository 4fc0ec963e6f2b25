#include "collector/query/query_api.h"

#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "common/base/ulid.h"
#include "common/model/limits.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

class QueryApiTest : public StoreFixture {
 protected:
  QueryApi Make(QueryCallbacks callbacks = {}) {
    return QueryApi({store_.get(), &clock_, "1.2.3", std::move(callbacks)});
  }
  uint64_t OnlySeries(const QueryApi& api) {
    const auto listing = api.ListSeries({});
    EXPECT_TRUE(listing.ok()) << listing.status();
    EXPECT_EQ(listing->series_size(), 1);
    return listing->series(0).series_id();
  }
  FakeClock clock_;
};

void ExpectNames(const absl::Status& status, absl::string_view field) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find(field), absl::string_view::npos) << status << " names not " << field;
}

TEST_F(QueryApiTest, StatusCountsAndReportsProblems) {
  AddNode("n1", "r1");
  AddRuns("n1", "stream", {1, 2, 3});
  QueryCallbacks callbacks;
  callbacks.nodes_connected = [] { return uint64_t{1}; };
  callbacks.problems = [] { return std::vector<std::string>{"a reference can't be used"}; };
  const auto status = Make(callbacks).GetStatus({});
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->collector_version(), "1.2.3");
  EXPECT_EQ(status->nodes(), 1u);
  EXPECT_EQ(status->nodes_connected(), 1u);
  EXPECT_EQ(status->runs(), 3u);
  EXPECT_EQ(status->samples(), 3u);
  EXPECT_EQ(status->series(), 1u);
  EXPECT_EQ(status->runs_by_outcome().at("ok"), 3u);
  EXPECT_EQ(status->time_unix_ns(), absl::ToUnixNanos(clock_.Now()));
  ASSERT_EQ(status->problems_size(), 1);
}

TEST_F(QueryApiTest, NodesByNameAndLabelWithLiveState) {
  AddNode("n1", "r1");
  AddNode("n2", "r2");
  QueryCallbacks callbacks;
  callbacks.fill_live = [](v1::Node* node) { node->set_state(v1::NODE_STATE_CONNECTED); };
  const QueryApi api = Make(callbacks);
  EXPECT_EQ(api.ListNodes({})->nodes_size(), 2);
  v1::ListNodesRequest request;
  request.set_name("n2");
  const auto by_name = api.ListNodes(request);
  ASSERT_EQ(by_name->nodes_size(), 1);
  EXPECT_EQ(by_name->nodes(0).state(), v1::NODE_STATE_CONNECTED);
  (*request.mutable_labels())["rack"] = "r1";
  EXPECT_EQ(api.ListNodes(request)->nodes_size(), 0);
  request.set_name("");
  const auto by_label = api.ListNodes(request);
  ASSERT_EQ(by_label->nodes_size(), 1);
  EXPECT_EQ(by_label->nodes(0).identity().name(), "n1");
  request.set_name("unknown");
  EXPECT_EQ(api.ListNodes(request)->nodes_size(), 0);
}

TEST_F(QueryApiTest, TheLatestOfEachSeries) {
  AddNode("n1", "r1");
  AddNode("n2", "r2");
  AddRuns("n1", "stream", {1, 2, 3});
  AddRuns("n2", "stream", {7});
  AddRuns("n2", "other", {9});
  const QueryApi api = Make();
  v1::ListLatestRequest request;
  request.mutable_selector()->set_benchmark("stream");
  const auto both = api.ListLatest(request);
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->samples_size(), 2);
  EXPECT_EQ(both->samples(0).series().node(), "n1");
  EXPECT_EQ(both->samples(0).value(), 3);
  EXPECT_EQ(both->samples(0).time_unix_ns(), kFirstRunNs + 2 * kMinuteNs);
  EXPECT_EQ(both->samples(0).better(), v1::BETTER_HIGHER);
  EXPECT_EQ(both->samples(1).series().node(), "n2");
  EXPECT_EQ(both->samples(1).value(), 7);

  request.mutable_range()->set_from_unix_ns(kFirstRunNs + 3 * kMinuteNs);
  ASSERT_EQ(api.ListLatest(request)->samples_size(), 1);
  request.mutable_range()->set_from_unix_ns(0);
  request.mutable_range()->set_to_unix_ns(kFirstRunNs + 3 * kMinuteNs);
  ASSERT_EQ(api.ListLatest(request)->samples_size(), 1);
  request.clear_range();
  request.set_limit(1);
  const auto first = api.ListLatest(request);
  ASSERT_EQ(first->samples_size(), 1);
  request.set_page_token(first->next_page_token());
  const auto second = api.ListLatest(request);
  ASSERT_EQ(second->samples_size(), 1);
  EXPECT_EQ(second->samples(0).value(), 7);
  EXPECT_EQ(second->next_page_token(), "");
}

TEST_F(QueryApiTest, QuantilesOfGroups) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node, node[1] == '3' ? "r2" : "r1");
  AddRuns("n1", "stream", {1, 2, 3});  // minutes 0, 1, 2
  AddRuns("n2", "stream", {4, 5});     // 3, 4
  AddRuns("n3", "stream", {100});      // 5
  const QueryApi api = Make();
  v1::ReadQuantilesRequest request;
  request.mutable_selector()->set_benchmark("stream");
  request.mutable_selector()->set_metric("bandwidth");
  request.add_by("rack");
  request.add_by("label.kernel");
  request.add_quantiles(0);
  request.add_quantiles(0.5);
  request.add_quantiles(0.875);
  const auto whole = api.ReadQuantiles(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->relative_error(), 0);
  ASSERT_EQ(whole->groups_size(), 2);
  const v1::QuantileGroup& r1 = whole->groups(0);
  EXPECT_EQ(r1.by().at("rack"), "r1");
  EXPECT_EQ(r1.by().at("label.kernel"), "copy");
  EXPECT_EQ(r1.unit(), "GB/s");
  EXPECT_EQ(r1.series(), 2u);
  ASSERT_EQ(r1.steps_size(), 1);
  EXPECT_EQ(r1.steps(0).samples(), 5u);
  EXPECT_EQ(std::vector<double>(r1.steps(0).values().begin(), r1.steps(0).values().end()),
            (std::vector<double>{1, 3, 4.5}));
  EXPECT_EQ(whole->groups(1).by().at("rack"), "r2");
  EXPECT_EQ(whole->groups(1).steps(0).values(1), 100);

  // All in one group, by steps of two minutes, from the second run on and up to the fifth.
  request.clear_by();
  request.clear_quantiles();
  request.set_step_seconds(120);
  request.mutable_range()->set_from_unix_ns(kFirstRunNs + kMinuteNs);
  request.mutable_range()->set_to_unix_ns(kFirstRunNs + 4 * kMinuteNs);
  const auto steps = api.ReadQuantiles(request);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->quantiles_size(), 5);
  ASSERT_EQ(steps->groups_size(), 1);
  ASSERT_EQ(steps->groups(0).steps_size(), 2);
  EXPECT_EQ(steps->groups(0).steps(0).begin_unix_ns(), kFirstRunNs + kMinuteNs);
  EXPECT_EQ(steps->groups(0).steps(0).values(2), 2.5);
  EXPECT_EQ(steps->groups(0).steps(1).begin_unix_ns(), kFirstRunNs + 3 * kMinuteNs);
  EXPECT_EQ(steps->groups(0).steps(1).values(2), 4);
}

TEST_F(QueryApiTest, QuantilesNeedToKnowOfWhat) {
  const QueryApi api = Make();
  v1::ReadQuantilesRequest request;
  ExpectNames(api.ReadQuantiles(request).status(), "benchmark");
  request.mutable_selector()->set_benchmark("stream");
  ExpectNames(api.ReadQuantiles(request).status(), "metric");
  request.mutable_selector()->set_metric("bandwidth");
  const auto nothing = api.ReadQuantiles(request);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(nothing->groups_size(), 0);
  request.set_step_seconds(0.5);
  ExpectNames(api.ReadQuantiles(request).status(), "step_seconds");
  request.set_step_seconds(std::numeric_limits<double>::quiet_NaN());
  ExpectNames(api.ReadQuantiles(request).status(), "step_seconds");
  request.set_step_seconds(0);
  request.add_quantiles(1.5);
  ExpectNames(api.ReadQuantiles(request).status(), "quantiles");
  request.clear_quantiles();
  for (int i = 0; i < 9; ++i) request.add_by("rack");
  ExpectNames(api.ReadQuantiles(request).status(), "by");
}

TEST_F(QueryApiTest, PagesCoverEverythingOnce) {
  std::vector<double> values(333);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  AddRuns("n1", "stream", values);
  const QueryApi api = Make();
  v1::ListRunsRequest request;
  request.set_limit(100);
  std::vector<std::string> ids;
  int pages = 0;
  do {
    const auto page = api.ListRuns(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(page->runs_size(), 100);
    for (const v1::NodeRun& run : page->runs()) {
      ids.push_back(run.run().run_id());
      EXPECT_TRUE(run.run().log_tail().empty());
    }
    request.set_page_token(page->next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 10);
  EXPECT_EQ(pages, 4);
  const std::vector<std::string> newest_first(run_ids().rbegin(), run_ids().rend());
  EXPECT_EQ(ids, newest_first);
}

// Ten thousand runs with long reasons would not fit into one message.
TEST_F(QueryApiTest, AnswersStayBelowTheLongestMessage) {
  SenderRecords sender{"n1", std::string(32, 'b'), {}};
  for (uint64_t i = 1; i <= 40; ++i) {
    v1::Record record;
    record.set_sequence(i);
    v1::Run& run = *record.mutable_run();
    run.set_run_id(NewUlid(absl::FromUnixSeconds(1'789'000'000 + static_cast<int64_t>(i))));
    run.set_benchmark("big");
    run.set_plugin("big");
    run.set_outcome(v1::OUTCOME_FAILED);
    run.set_started_unix_ns(kFirstRunNs + static_cast<int64_t>(i));
    for (int note = 0; note < 250; ++note) run.add_notes(std::string(1000, 'x'));
    sender.records.push_back(record);
  }
  ASSERT_TRUE(store_->Commit({sender}).ok());
  const QueryApi api = Make();
  v1::ListRunsRequest request;
  std::set<std::string> seen;
  int pages = 0;
  do {
    const auto page = api.ListRuns(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LT(page->ByteSizeLong(), limits::kMessageBytes);
    EXPECT_GT(page->runs_size(), 0);
    for (const v1::NodeRun& run : page->runs()) EXPECT_TRUE(seen.insert(run.run().run_id()).second);
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && ++pages < 50);
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_GT(pages, 1);
}

TEST_F(QueryApiTest, SamplesOldestAndNewest) {
  AddRuns("n1", "stream", {1, 2, 3, 4, 5});
  const QueryApi api = Make();
  v1::ReadSamplesRequest request;
  request.set_series_id(OnlySeries(api));
  const auto all = api.ReadSamples(request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->samples_size(), 5);
  EXPECT_FALSE(all->truncated());
  EXPECT_EQ(all->series().key().metric(), "bandwidth");
  EXPECT_EQ(all->samples(0).run_id(), run_ids()[0]);

  request.set_limit(2);
  const auto oldest = api.ReadSamples(request);
  EXPECT_TRUE(oldest->truncated());
  ASSERT_EQ(oldest->samples_size(), 2);
  EXPECT_EQ(oldest->samples(0).value(), 1);
  EXPECT_EQ(oldest->samples(1).value(), 2);

  request.set_newest(true);
  const auto newest = api.ReadSamples(request);
  EXPECT_TRUE(newest->truncated());
  ASSERT_EQ(newest->samples_size(), 2);
  EXPECT_EQ(newest->samples(0).value(), 4);
  EXPECT_EQ(newest->samples(1).value(), 5);

  request.mutable_range()->set_from_unix_ns(kFirstRunNs + 1 * kMinuteNs);  // inclusive
  request.mutable_range()->set_to_unix_ns(kFirstRunNs + 3 * kMinuteNs);    // exclusive
  const auto range = api.ReadSamples(request);
  EXPECT_FALSE(range->truncated());
  ASSERT_EQ(range->samples_size(), 2);
  EXPECT_EQ(range->samples(0).value(), 2);
  EXPECT_EQ(range->samples(1).value(), 3);
}

TEST_F(QueryApiTest, RunsByIdWithTheirLog) {
  AddRuns("n1", "stream", {1});
  const QueryApi api = Make();
  v1::GetRunRequest request;
  request.set_run_id(run_ids()[0]);
  const auto run = api.GetRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->run().node(), "n1");
  EXPECT_EQ(run->run().run().log_tail(), "the end of the log");
  request.set_run_id(NewUlid(clock_.Now()));
  EXPECT_TRUE(absl::IsNotFound(api.GetRun(request).status()));
  request.set_run_id("short");
  ExpectNames(api.GetRun(request).status(), "run_id");
}

TEST_F(QueryApiTest, EventsAreAddedAndListed) {
  const QueryApi api = Make();
  v1::AddEventRequest request;
  ExpectNames(api.AddEvent(request).status(), "event.message");
  request.mutable_event()->set_message("new driver");
  request.mutable_event()->set_node("n1");
  const auto added = api.AddEvent(request);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(IsUlid(added->event_id()));
  v1::ListEventsRequest list;
  list.set_node("n1");
  const auto events = api.ListEvents(list);
  ASSERT_EQ(events->events_size(), 1);
  EXPECT_EQ(events->events(0).kind(), v1::Event::KIND_NOTE);
  EXPECT_EQ(events->events(0).time_unix_ns(), absl::ToUnixNanos(clock_.Now()));
  request.mutable_event()->set_kind(v1::Event::KIND_FACT_CHANGED);  // only an agent says that
  ExpectNames(api.AddEvent(request).status(), "event.kind");
  request.mutable_event()->set_kind(v1::Event::KIND_NOTE);
  request.mutable_event()->set_event_id(added->event_id());
  ExpectNames(api.AddEvent(request).status(), "event.event_id");
}

TEST_F(QueryApiTest, WrongRequestsNameTheField) {
  const QueryApi api = Make();
  v1::ListRunsRequest runs;
  runs.set_limit(10'001);
  ExpectNames(api.ListRuns(runs).status(), "limit");
  runs.set_limit(0);
  runs.set_page_token("not a token of this server");
  ExpectNames(api.ListRuns(runs).status(), "token");
  runs.set_page_token("");
  runs.mutable_range()->set_from_unix_ns(5);
  runs.mutable_range()->set_to_unix_ns(4);
  ExpectNames(api.ListRuns(runs).status(), "range");
  runs.mutable_range()->set_from_unix_ns(-1);
  ExpectNames(api.ListRuns(runs).status(), "range.from_unix_ns");
  runs.clear_range();
  runs.set_node("bad name");
  ExpectNames(api.ListRuns(runs).status(), "node");
  runs.set_node("");
  runs.set_outcome(static_cast<v1::Outcome>(99));
  ExpectNames(api.ListRuns(runs).status(), "outcome");
  ExpectNames(api.ReadSamples({}).status(), "series_id");
  v1::ReadSamplesRequest samples;
  samples.set_series_id(424242);
  EXPECT_TRUE(absl::IsNotFound(api.ReadSamples(samples).status()));
  samples.set_limit(100'001);
  ExpectNames(api.ReadSamples(samples).status(), "limit");
  v1::ListSeriesRequest series;
  series.mutable_selector()->set_metric(std::string(100, 'x'));
  ExpectNames(api.ListSeries(series).status(), "selector.metric");
}

TEST_F(QueryApiTest, RunNowChecksAndPassesOn) {
  v1::RunNowRequest passed;
  QueryCallbacks callbacks;
  callbacks.run_now = [&passed](const v1::RunNowRequest& request, RunFollower follower) {
    passed = request;
    follower.on_end(absl::OkStatus());
    return absl::StatusOr<std::string>("id1");
  };
  const QueryApi api = Make(callbacks);
  v1::RunNowRequest request;
  request.set_node("n1");
  bool ended = false;
  const RunFollower follower{[](const v1::RunProgress&) {}, [&ended](const absl::Status&) { ended = true; }};
  ExpectNames(api.RunNow(request, follower).status(), "benchmark");
  request.set_benchmark("stream");
  EXPECT_EQ(*api.RunNow(request, follower), "id1");
  EXPECT_TRUE(ended);
  EXPECT_EQ(passed.expires_seconds(), 60);
  request.set_expires_seconds(-1);
  ExpectNames(api.RunNow(request, follower).status(), "expires_seconds");
  request.set_expires_seconds(1);
  EXPECT_TRUE(absl::IsUnavailable(Make().RunNow(request, follower).status()));
}

TEST_F(QueryApiTest, CancelRunNeedsOneId) {
  int calls = 0;
  QueryCallbacks callbacks;
  callbacks.cancel_run = [&calls](const v1::CancelRunRequest&) {
    ++calls;
    return absl::OkStatus();
  };
  const QueryApi api = Make(callbacks);
  v1::CancelRunRequest request;
  request.set_node("n1");
  ExpectNames(api.CancelRun(request).status(), "run_id");
  request.set_run_id("a");
  request.set_request_id("b");
  ExpectNames(api.CancelRun(request).status(), "run_id");
  request.clear_request_id();
  EXPECT_TRUE(api.CancelRun(request).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace fleetmark::collector
