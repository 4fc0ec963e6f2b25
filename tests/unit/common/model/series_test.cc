#include "common/model/series.h"

#include <cmath>
#include <functional>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

v1::Run GoodRun() {
  v1::Run run;
  run.set_run_id("01ARYZ6S41TSV4RRFFQ69G5FAV");
  run.set_benchmark("stream");
  run.set_plugin("mem_bandwidth");
  run.set_plugin_version("1.0.0");
  run.set_outcome(v1::OUTCOME_OK);
  run.set_started_unix_ns(1'790'000'000'000'000'000);
  v1::Metric* metric = run.add_metrics();
  metric->set_name("triad");
  metric->set_unit("GB/s");
  metric->set_value(17.5);
  (*metric->mutable_labels())["numa_node"] = "0";
  return run;
}

TEST(Series, CanonicalTextDoesNotDependOnLabelOrder) {
  v1::SeriesKey a, b;
  (*a.mutable_labels())["x"] = "1";
  (*a.mutable_labels())["y"] = "2";
  (*b.mutable_labels())["y"] = "2";
  (*b.mutable_labels())["x"] = "1";
  EXPECT_EQ(CanonicalText(a), CanonicalText(b));
}

TEST(Series, EveryPartOfTheKeyMatters) {
  const v1::Run run = GoodRun();
  const v1::SeriesKey key = SeriesKeyOf("n1", run, run.metrics(0));
  const std::vector<std::function<void(v1::SeriesKey&)>> changes = {[](v1::SeriesKey& k) { k.set_node("n2"); },
                                                                    [](v1::SeriesKey& k) { k.set_benchmark("b"); },
                                                                    [](v1::SeriesKey& k) { k.set_metric("copy"); },
                                                                    [](v1::SeriesKey& k) { k.set_unit("MB/s"); },
                                                                    [](v1::SeriesKey& k) { k.set_plugin("other"); },
                                                                    [](v1::SeriesKey& k) { k.set_plugin_version("2"); },
                                                                    [](v1::SeriesKey& k) { k.set_params_digest("ff"); },
                                                                    [](v1::SeriesKey& k) { k.mutable_labels()->clear(); }};
  for (const auto& change : changes) {
    v1::SeriesKey other = key;
    change(other);
    EXPECT_NE(CanonicalText(other), CanonicalText(key));
  }
}

TEST(Series, DisplayName) {
  const v1::Run run = GoodRun();
  EXPECT_EQ(DisplayName(SeriesKeyOf("n1", run, run.metrics(0))), "n1/stream triad{numa_node=\"0\"}");
}

TEST(Series, CheckRunNamesTheField) {
  EXPECT_TRUE(CheckRun(GoodRun()).ok());
  const std::vector<std::pair<std::function<void(v1::Run&)>, std::string>> faults = {
      {[](v1::Run& r) { r.set_run_id("x"); }, "run_id"},
      {[](v1::Run& r) { r.set_benchmark("a b"); }, "benchmark"},
      {[](v1::Run& r) { r.set_plugin("A"); }, "plugin"},
      {[](v1::Run& r) { r.clear_outcome(); }, "outcome"},
      {[](v1::Run& r) { r.set_duration_seconds(std::nan("")); }, "duration_seconds"},
      {[](v1::Run& r) { r.set_log_tail(std::string(20000, 'x')); }, "log_tail"},
      {[](v1::Run& r) { r.mutable_metrics(0)->set_value(INFINITY); }, "metrics[0].value"},
      {[](v1::Run& r) { r.mutable_metrics(0)->set_unit("GBs"); }, "metrics[0].unit"},
      {[](v1::Run& r) { r.mutable_metrics(0)->set_name("Triad"); }, "metrics[0].name"},
      {[](v1::Run& r) { *r.add_metrics() = r.metrics(0); }, "metrics give"},
      {[](v1::Run& r) { (*r.mutable_metrics(0)->mutable_labels())["l"] = std::string(300, 'v'); },
       "label value"},
      {[](v1::Run& r) {
         for (int i = 0; i < 1001; ++i) r.add_metrics();
       },
       "metrics has 1002"},
      {[](v1::Run& r) { r.set_started_unix_ns(-1); }, "started_unix_ns"}};
  for (const auto& [change, field] : faults) {
    v1::Run run = GoodRun();
    change(run);
    const absl::Status status = CheckRun(run);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_NE(status.message().find(field), absl::string_view::npos) << status;
  }
}

TEST(Series, CheckEventNamesTheField) {
  v1::Event event;
  event.set_event_id("01ARYZ6S41TSV4RRFFQ69G5FAV");
  event.set_node("n1");
  EXPECT_TRUE(CheckEvent(event).ok());
  event.set_message(std::string(5000, 'x'));
  EXPECT_NE(CheckEvent(event).message().find("message"), absl::string_view::npos);
}

}  // namespace
}  // namespace fleetmark
