// The HTTP face of PromQL. What the answers are, tests/integration compares with a real Prometheus.
#include "collector/query/prometheus_routes.h"

#include <httplib.h>

#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/query/prometheus_params.h"
#include "common/base/clock.h"
#include "tests/fakes/memory_series_source.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

constexpr int64_t kBegin = 1'790'000'000'000;

class PrometheusRoutesTest : public testing::Test {
 protected:
  PrometheusRoutesTest() {
    for (int i = 0; i < 10; ++i) {
      source_.Add(promql::LabelSet({{"__name__", "foo"}, {"node", "n1"}}), {kBegin + i * 60'000, 1.5 * i});
      source_.Add(promql::LabelSet({{"__name__", "bar"}, {"node", "n\"2"}}), {kBegin + i * 60'000, 2.0});
    }
    Start(8);
  }
  ~PrometheusRoutesTest() override { server_->Stop(); }

  void Start(int max_queries) {
    if (server_ != nullptr) server_->Stop();
    engine_ = std::make_unique<promql::Engine>(
        promql::Engine::Options{.source = &source_, .clock = &RealClock(), .query = {}});
    routes_ = std::make_unique<PrometheusRoutes>(PrometheusRoutes::Options{
        .engine = engine_.get(), .clock = &RealClock(), .version = "1.2.3", .max_queries = max_queries});
    server_ = std::make_unique<HttpServer>(4);
    routes_->Register(*server_);
    const auto port = server_->Start("127.0.0.1", 0);
    EXPECT_TRUE(port.ok()) << port.status();
    client_ = std::make_unique<httplib::Client>("127.0.0.1", *port);
  }

  httplib::Result Get(const std::string& path, const httplib::Params& params = {}) {
    return client_->Get(("/api/v1" + path).c_str(), params, httplib::Headers());
  }

  promql::MemorySeriesSource source_;
  std::unique_ptr<promql::Engine> engine_;
  std::unique_ptr<PrometheusRoutes> routes_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(PrometheusRoutesTest, AnInstantQuery) {
  const auto answer = Get("/query", {{"query", "foo * 2"}, {"time", "1790000060.5"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body,
            R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"},)"
            R"("value":[1790000060.500,"3"]}]}})");
}

TEST_F(PrometheusRoutesTest, ARangeQueryWithDurationAndRfcTimes) {
  const auto answer =
      Get("/query_range",
          {{"query", "foo"}, {"start", "2026-09-21T14:13:20Z"}, {"end", "1790000120"}, {"step", "1m"}});
  EXPECT_EQ(answer->body,
            R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"foo",)"
            R"("node":"n1"},"values":[[1790000000,"0"],[1790000060,"1.5"],[1790000120,"3"]]}]}})");
}

TEST_F(PrometheusRoutesTest, APostedFormOfAnyLengthUpToTheLimit) {
  // Longer than what httplib takes as a form.
  const std::string query = "foo or foo{node=\"" + std::string(100'000, 'x') + "\"}";
  const auto answer =
      client_->Post("/api/v1/query", httplib::Params{{"query", query}, {"time", "1790000000"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_THAT(answer->body, HasSubstr("\"0\""));
  const auto huge = client_->Post("/api/v1/query", httplib::Params{{"query", std::string(2 << 20, 'x')}});
  EXPECT_TRUE(!huge || huge->status == 413);
}

TEST_F(PrometheusRoutesTest, ErrorsHavePrometheusForm) {
  const auto parse = Get("/query", {{"query", "foo{"}});
  EXPECT_EQ(parse->status, 400);
  EXPECT_THAT(parse->body, HasSubstr(R"({"status":"error","errorType":"bad_data","error":"invalid parameter )"
                                     R"(\"query\": 1:5: parse error: )"));
  const auto execution = Get("/query", {{"query", "label_replace(foo, \"a\", \"\", \"b\", \"(\")"}});
  EXPECT_EQ(execution->status, 422);
  EXPECT_THAT(execution->body, HasSubstr("\"errorType\":\"execution\""));
  const auto time = Get("/query", {{"query", "foo"}, {"time", "yesterday"}});
  EXPECT_THAT(time->body, HasSubstr(R"(invalid parameter \"time\": cannot parse \"yesterday\")"));
  EXPECT_EQ(Get("/query_range", {{"query", "foo"}, {"start", "2"}, {"end", "1"}, {"step", "1"}})->status,
            400);
  EXPECT_EQ(Get("/query_range", {{"query", "foo"}, {"start", "1"}, {"end", "2"}})->status, 400);
  EXPECT_EQ(Get("/query_range", {{"query", "foo"}, {"start", "1"}, {"end", "1e6"}, {"step", "1"}})->status,
            400);
  EXPECT_EQ(client_->Post("/api/v1/query", "{}", "application/json")->status, 400);
  EXPECT_EQ(Get("/series")->status, 400);
  EXPECT_EQ(Get("/label/no-name/values")->status, 400);
  EXPECT_EQ(Get("/query", {{"query", "foo"}, {"timeout", "0.000001"}})->status, 503);
}

TEST_F(PrometheusRoutesTest, WhatThereIs) {
  const httplib::Params when = {{"start", "1790000000"}, {"end", "1790000600"}};
  EXPECT_EQ(Get("/labels", when)->body, R"({"status":"success","data":["__name__","node"]})");
  EXPECT_EQ(Get("/label/node/values", when)->body, R"({"status":"success","data":["n\"2","n1"]})");
  httplib::Params match = when;
  match.emplace("match[]", "foo");
  match.emplace("match[]", "{node=~\"n.*\",__name__!=\"bar\"}");
  EXPECT_EQ(Get("/series", match)->body, R"({"status":"success","data":[{"__name__":"foo","node":"n1"}]})");
  EXPECT_EQ(Get("/label/node/values", match)->body, R"({"status":"success","data":["n1"]})");
  EXPECT_THAT(Get("/metadata", {{"metric", "foo"}})->body, HasSubstr(R"({"foo":[{"type":"gauge",)"));
  EXPECT_EQ(Get("/metadata", {{"limit", "0"}})->body, R"({"status":"success","data":{}})");
  EXPECT_THAT(Get("/status/buildinfo")->body, HasSubstr(R"("application":"Fleetmark")"));
  EXPECT_EQ(Get("/format_query", {{"query", "sum(foo)by(node)"}})->body,
            "{\"status\":\"success\",\"data\":\"sum by (node) (foo)\"}");
}

TEST_F(PrometheusRoutesTest, TooManyAtOnceAreRefused) {
  Start(0);
  const auto answer = Get("/query", {{"query", "foo"}});
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(answer->body, HasSubstr("\"errorType\":\"unavailable\""));
}

TEST(ParseFormTest, EscapesAndRepeats) {
  const auto form = ParseForm("a=1%202+3&b&a=%7B%22&&c=");
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->size(), 4U);
  EXPECT_EQ(form->find("a")->second, "1 2 3");
  EXPECT_EQ(form->find("b")->second, "");
  EXPECT_FALSE(ParseForm("a=%2").ok());
  EXPECT_FALSE(ParseForm("a=%zz").ok());
}

}  // namespace
}  // namespace fleetmark::collector
