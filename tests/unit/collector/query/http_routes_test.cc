#include "collector/query/http_routes.h"

#include <httplib.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/query/query_api.h"
#include "common/base/clock.h"
#include "common/obs/metrics.h"
#include "store_fixture.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

// A real server on a free port of the loopback.
class HttpRoutesTest : public StoreFixture {
 protected:
  HttpRoutesTest() {
    QueryCallbacks callbacks;
    callbacks.run_now = [this](const v1::RunNowRequest& request,
                               RunFollower follower) -> absl::StatusOr<std::string> {
      if (request.node() != "n1") return absl::UnavailableError("node 'n2' is not connected");
      asked_ = request;
      follower_ = std::move(follower);
      if (play_) play_();
      return std::string("request1");
    };
    callbacks.unfollow = [this](const std::string& id) { unfollowed_ = id; };
    api_ = std::make_unique<QueryApi>(QueryApi::Options{store_.get(), &RealClock(), "1.2.3", callbacks});
    HttpRoutes::Options options;
    options.api = api_.get();
    options.metrics = &metrics_;
    options.clock = &RealClock();
    options.keep_alive = absl::Milliseconds(20);
    routes_ = std::make_unique<HttpRoutes>(options);
    routes_->Register(server_);
    const auto port = server_.Start("127.0.0.1", 0);
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = *port;
    client_ = std::make_unique<httplib::Client>("127.0.0.1", port_);
  }
  ~HttpRoutesTest() override {
    client_.reset();
    routes_->EndStreams();
    server_.Stop();
  }

  httplib::Result Get(const std::string& path) { return client_->Get("/api/fleetmark/v1" + path); }
  httplib::Result Post(const std::string& path, const std::string& body,
                       const httplib::Headers& headers = {}) {
    return client_->Post("/api/fleetmark/v1" + path, headers, body, "application/json");
  }
  void Say(v1::RunProgress::State state, double fraction) {
    v1::RunProgress progress;
    progress.set_state(state);
    progress.set_fraction(fraction);
    follower_.on_progress(progress);
  }

  Metrics metrics_;
  HttpServer server_;
  std::unique_ptr<QueryApi> api_;
  std::unique_ptr<HttpRoutes> routes_;
  int port_ = 0;
  std::unique_ptr<httplib::Client> client_;
  v1::RunNowRequest asked_;
  RunFollower follower_;
  std::function<void()> play_;  // what the node does when asked
  std::string unfollowed_;
};

TEST_F(HttpRoutesTest, ListingsAreJsonWithProtoNamesAndZeros) {
  AddNode("n1", "r1");
  AddRuns("n1", "stream", {1.5, 0});
  const auto status = Get("/status");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->status, 200);
  EXPECT_EQ(status->get_header_value("Content-Type"), "application/json");
  EXPECT_THAT(status->body, HasSubstr("\"collector_version\":\"1.2.3\""));
  EXPECT_THAT(status->body, HasSubstr("\"open_findings\":\"0\""));
  EXPECT_THAT(Get("/nodes")->body, HasSubstr("\"name\":\"n1\""));
  EXPECT_THAT(Get("/nodes/n1")->body, HasSubstr("\"rack\":\"r1\""));
  EXPECT_THAT(Get("/series?benchmark=stream&label.kernel=copy")->body, HasSubstr("\"metric\":\"bandwidth\""));
  EXPECT_THAT(Get("/series?node_label.rack=r2")->body, HasSubstr("\"series\":[]"));
  EXPECT_THAT(Get("/runs?outcome=ok&limit=1")->body, HasSubstr(run_ids()[1]));
  EXPECT_THAT(Get("/runs/" + run_ids()[0])->body, HasSubstr("the end of the log"));
  EXPECT_THAT(Get("/findings?state=open")->body, HasSubstr("\"findings\":[]"));
  EXPECT_THAT(Get("/events?from=-1h")->body, HasSubstr("\"events\":[]"));
  const std::string id = std::to_string(api_->ListSeries({})->series(0).series_id());
  const std::string samples = Get("/series/" + id + "/samples?newest=true&limit=1")->body;
  EXPECT_THAT(samples, HasSubstr("\"value\":0"));
  EXPECT_THAT(samples, HasSubstr("\"truncated\":true"));
}

TEST_F(HttpRoutesTest, ErrorsHaveCodeAndMessage) {
  const auto unknown = Get("/runs?benchmrak=stream");
  EXPECT_EQ(unknown->status, 400);
  EXPECT_THAT(unknown->body, HasSubstr("did you mean 'benchmark'?"));
  EXPECT_THAT(unknown->body, HasSubstr("\"code\":\"INVALID_ARGUMENT\""));
  EXPECT_EQ(Get("/nodes/nobody")->status, 404);
  EXPECT_EQ(Get("/nodes/nobody?x=1")->status, 400);
  EXPECT_EQ(Get("/series/abc/samples")->status, 400);
  EXPECT_EQ(Get("/series/999/samples")->status, 404);
  EXPECT_EQ(Get("/runs/abc")->status, 400);
  EXPECT_EQ(Get("/nothing")->status, 404);
}

TEST_F(HttpRoutesTest, EventsArePosted) {
  const auto added =
      Post("/events", R"({"event":{"node":"n1","message":"new driver","kind":"KIND_DEPLOYMENT"}})");
  ASSERT_TRUE(added);
  EXPECT_EQ(added->status, 200) << added->body;
  EXPECT_THAT(added->body, HasSubstr("event_id"));
  EXPECT_THAT(Get("/events?node=n1")->body, HasSubstr("new driver"));
  EXPECT_EQ(Post("/events", R"({"event":{"mesage":"x"}})")->status, 400);
  EXPECT_EQ(Post("/events", "{")->status, 400);
}

TEST_F(HttpRoutesTest, PostsFromOtherSitesAreRefused) {
  const std::string body = R"({"event":{"message":"x"}})";
  const std::string own = "http://127.0.0.1:" + std::to_string(port_);
  EXPECT_EQ(Post("/events", body, {{"Origin", own}})->status, 200);
  EXPECT_EQ(Post("/events", body, {{"Origin", "http://evil.example"}})->status, 403);
  EXPECT_EQ(Post("/events", body, {{"Origin", "null"}})->status, 403);
  EXPECT_EQ(Post("/events", body, {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
  EXPECT_EQ(Post("/events", body, {{"Sec-Fetch-Site", "same-origin"}})->status, 200);
  const auto form = client_->Post("/api/fleetmark/v1/events", body, "text/plain");
  EXPECT_EQ(form->status, 400);
  const auto run = client_->Post("/api/fleetmark/v1/nodes/n1/run/stream", body, "text/plain");
  EXPECT_EQ(run->status, 400);
  EXPECT_TRUE(asked_.node().empty());
}

TEST_F(HttpRoutesTest, ARunIsFollowedLineByLine) {
  play_ = [this] {
    Say(v1::RunProgress::STATE_QUEUED, 0);
    Say(v1::RunProgress::STATE_RUNNING, 0.5);
    Say(v1::RunProgress::STATE_FINISHED, 1);
    follower_.on_end(absl::OkStatus());
  };
  const auto run = Post("/nodes/n1/run/stream", R"({"asked_by":"me"})");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->status, 200);
  EXPECT_EQ(run->get_header_value("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(std::count(run->body.begin(), run->body.end(), '\n'), 3);
  EXPECT_THAT(run->body, HasSubstr("STATE_FINISHED"));
  EXPECT_EQ(asked_.benchmark(), "stream");
  EXPECT_EQ(asked_.asked_by(), "me");
  EXPECT_EQ(asked_.expires_seconds(), 60);
}

TEST_F(HttpRoutesTest, ARunThatCannotStartIsAnError) {
  const auto run = Post("/nodes/n2/run/stream", "");
  EXPECT_EQ(run->status, 503);
  EXPECT_THAT(run->body, HasSubstr("not connected"));
}

TEST_F(HttpRoutesTest, AnAgentThatGoesAwayEndsTheStreamWithALine) {
  play_ = [this] {
    Say(v1::RunProgress::STATE_RUNNING, 0.5);
    follower_.on_end(absl::UnavailableError("the agent has gone away"));
  };
  const auto run = Post("/nodes/n1/run/stream", "{}");
  ASSERT_TRUE(run);
  EXPECT_THAT(run->body, HasSubstr("\"code\":\"UNAVAILABLE\""));
}

TEST_F(HttpRoutesTest, AReaderThatLeavesUnfollowsTheRun) {
  size_t pieces = 0;
  httplib::Request request;
  request.method = "POST";
  request.path = "/api/fleetmark/v1/nodes/n1/run/stream";
  request.set_header("Content-Type", "application/json");
  request.body = "{}";
  request.content_receiver = [&pieces](const char*, size_t, uint64_t, uint64_t) { return ++pieces < 2; };
  client_->send(request);  // gives up after a keep-alive or two
  client_.reset();
  server_.Stop();  // waits for the answer's end, which comes by the failed keep-alive
  EXPECT_EQ(unfollowed_, "request1");
}

TEST_F(HttpRoutesTest, EndStreamsEndsWhatFollowsARun) {
  play_ = [this] { routes_->EndStreams(); };
  const auto run = Post("/nodes/n1/run/stream", "{}");
  ASSERT_TRUE(run);
  EXPECT_THAT(run->body, HasSubstr("stopping"));
  EXPECT_EQ(Post("/nodes/n1/run/stream", "{}")->status, 503);
}

TEST_F(HttpRoutesTest, HealthAndMetrics) {
  metrics_.AddCounter("fleetmark_test_total", "A counter.").Add(3);
  EXPECT_EQ(client_->Get("/healthz")->body, "ok\n");
  EXPECT_EQ(client_->Get("/readyz")->status, 200);
  const auto metrics = client_->Get("/metrics");
  EXPECT_THAT(metrics->get_header_value("Content-Type"), HasSubstr("text/plain"));
  EXPECT_THAT(metrics->body, HasSubstr("fleetmark_test_total 3"));
}

TEST_F(HttpRoutesTest, OverviewsCurvesAndComparisons) {
  AddNode("n1", "r1");
  AddRuns("n1", "stream", {1, 2, 3});
  EXPECT_THAT(Get("/fleet?benchmark=stream&metric=bandwidth")->body, HasSubstr("\"value\":[3]"));
  EXPECT_THAT(Get("/benchmarks")->body, HasSubstr("\"unit\":\"GB/s\""));
  EXPECT_THAT(Get("/series/1/curve?points=10")->body, HasSubstr("\"value\":[1,2,3]"));
  EXPECT_EQ(Get("/series/2/curve")->status, 404);
  EXPECT_THAT(Get("/compare?a.node=n1&b.node=n1&metric=bandwidth")->body, HasSubstr("\"comparisons\":[{"));
  EXPECT_EQ(Get("/compare?a.fact=kernel")->status, 400);
  EXPECT_EQ(Get("/compare?c.node=n1")->status, 400);
}

// The first says how things are, another comes when something has changed, and nothing repeats itself.
TEST_F(HttpRoutesTest, ChangesAreServerSentEvents) {
  AddNode("n1", "r1");
  std::string text;
  int statuses = 0;
  const auto count = [&text] {
    int n = 0;
    for (size_t at = text.find("event: status"); at != std::string::npos;
         at = text.find("event: status", at + 1))
      ++n;
    return n;
  };
  bool added = false;
  const auto end = client_->Get("/api/fleetmark/v1/changes", [&](const char* data, size_t size) {
    text.append(data, size);
    statuses = count();
    if (statuses == 1 && !added && text.find("\n\n:\n") != std::string::npos) {
      added = true;  // a comment has kept it alive in between, and no second status
      AddRuns("n1", "stream", {1});
    }
    // What is written may come in parts. The comments come each 20 ms: with so many the test has failed.
    return text.find("\"runs\":\"1\"") == std::string::npos && text.size() < 20'000;
  });
  EXPECT_FALSE(end);  // left by the reader
  EXPECT_EQ(statuses, 2);
  EXPECT_EQ(text.find("retry: "), 0u);
  EXPECT_THAT(text, HasSubstr("\"runs\":\"1\""));
}

TEST_F(HttpRoutesTest, FollowersOfChangesEndWithTheServer) {
  std::thread ender;
  const auto end = client_->Get("/api/fleetmark/v1/changes", [&](const char*, size_t) {
    if (!ender.joinable()) ender = std::thread([this] { routes_->EndStreams(); });
    return true;
  });
  ender.join();
  EXPECT_TRUE(end);
  EXPECT_EQ(Get("/changes")->status, 503);
}

}  // namespace
}  // namespace fleetmark::collector
