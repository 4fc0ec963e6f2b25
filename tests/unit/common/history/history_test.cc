#include "common/history/history.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/history/reference_list.h"
#include "common/history/written_time.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] =
    "result|job_completion_time|environ|job_exitcode|job_nodelist|name|partition|bw_value|bw_unit|bw_ref|"
    "bw_lower_thres|bw_upper_thres|short_name|system\n";

std::string Row(const std::string& nodes, const std::string& time, const std::string& value,
                const std::string& exit_code = "0") {
  return "pass|" + time + "|gnu|" + exit_code + "|" + nodes + "|Bw %n=4|cpu|" + value +
         "|MB/s|100|-0.05|None|Bw|sys\n";
}

History Read(const std::string& tool, const std::string& text, const HistoryOptions& options = {}) {
  return ReadHistory(tool, text, options).value();
}

TEST(History, AReportsTestsHaveNodeTimeAndReference) {
  const History history = Read(
      "reframe", R"({"session_info":{"data_version":"4.2"},"runs":[{"testcases":[{"display_name":"Bw %n=4",)"
                 R"("system":"sys","partition":"cpu","environ":"gnu","job_nodelist":["n01"],"result":"fail",)"
                 R"("job_completion_time_unix":1772619072.25,"job_exitcode":0,)"
                 R"("perfvalues":{"sys:cpu:bw":[90.0,100,-0.05,null,"MB/s","fail"]}}]}]})");
  EXPECT_TRUE(history.faults.empty());
  EXPECT_EQ(history.failed, 1U);
  ASSERT_EQ(history.metrics.size(), 1U);
  const ImportedMetric& metric = history.metrics[0].metric;
  EXPECT_EQ(metric.node, "n01");
  EXPECT_EQ(metric.benchmark, "Bw");
  EXPECT_EQ(metric.metric, "bw");
  EXPECT_EQ(metric.time_unix_ns, 1'772'619'072'250'000'000);
  EXPECT_EQ(metric.better, v1::BETTER_HIGHER);
  EXPECT_FALSE(metric.labels.contains("test"));
  ASSERT_TRUE(history.metrics[0].reference.has_value());
  EXPECT_EQ(history.metrics[0].reference->value(), 100);
  EXPECT_FALSE(history.metrics[0].reference->has_upper());
}

TEST(History, TheOldestReportsHaveTheSessionsTimeAndTheirCasesAreToldApart) {
  const std::string test =
      R"({"name":"Bw","system":"sys:cpu","environment":"gnu","nodelist":["n01"],"result":"success",)"
      R"("perfvars":[{"name":"bw","value":90,"reference":0,"thres_lower":null,"thres_upper":null,"unit":"MB/s"}]})";
  const History history = Read("reframe", R"({"session_info":{"data_version":"1.2",)"
                                          R"("time_end":"2022-03-04T10:11:12+0000"},"runs":[{"testcases":[)" +
                                              test + "," + test + "]}]}");
  ASSERT_EQ(history.metrics.size(), 2U) << (history.faults.empty() ? "" : history.faults[0].why);
  EXPECT_EQ(history.metrics[0].metric.time_unix_ns, 1'646'388'672'000'000'000);
  EXPECT_EQ(history.metrics[1].metric.time_unix_ns, 1'646'388'672'001'000'000);
  EXPECT_FALSE(history.metrics[0].reference.has_value());
}

TEST(History, ABrokenRowIsToldByItsLineAndTheRestIsRead) {
  const History history = Read("reframe", kHeader + Row("n01", "2026-03-04T10:11:12", "99.5") +
                                              "pass|broken\n" + Row("n01", "2026-03-04T11:11:12", "98.5"));
  EXPECT_EQ(history.metrics.size(), 2U);
  ASSERT_EQ(history.faults.size(), 1U);
  EXPECT_EQ(history.faults[0].line, 3U);
}

TEST(History, TimesWithoutAZoneFollowTheOption) {
  HistoryOptions options;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/London", &options.zone));
  const History history = Read("reframe", kHeader + Row("n01", "2026-07-04T10:00:00", "99.5"), options);
  ASSERT_EQ(history.metrics.size(), 1U);
  EXPECT_EQ(absl::FromUnixNanos(history.metrics[0].metric.time_unix_ns),
            absl::FromUnixSeconds(1'783'155'600));  // 09:00 UTC
}

TEST(History, AJobOverSeveralNodesBelongsToItsSystem) {
  const std::string row = Row("n01,n02", "2026-07-04T10:00:00", "99.5");
  EXPECT_EQ(Read("reframe", kHeader + row).metrics[0].metric.node, "sys");
  HistoryOptions options;
  options.node = "cluster";
  EXPECT_EQ(Read("reframe", kHeader + row, options).metrics[0].metric.node, "cluster");
}

TEST(History, NumbersOfAProgramThatEndedBadlyAreLeftOut) {
  const History history = Read("reframe", kHeader + Row("n01", "2026-07-04T10:00:00", "99.5", "3"));
  EXPECT_TRUE(history.metrics.empty());
  EXPECT_EQ(history.unusable, 1U);
  EXPECT_TRUE(history.faults.empty());
}

TEST(History, SuperBenchNeedsATime) {
  const std::string line = R"({"node":"gpu1","kernel-launch/event_time:0":0.0059,"gemm-flops/fp64:0":9000})";
  const History without = Read("superbench", line);
  EXPECT_TRUE(without.metrics.empty());
  ASSERT_FALSE(without.faults.empty());
  EXPECT_THAT(without.faults[0].why, HasSubstr("no time"));
  HistoryOptions options;
  options.time = "2026-03-04_10-11-12";
  const History history = Read("superbench", line, options);
  ASSERT_EQ(history.metrics.size(), 2U);
  EXPECT_EQ(history.metrics[0].metric.node, "gpu1");
  EXPECT_THAT(
      (std::vector<std::string>{history.metrics[0].metric.benchmark, history.metrics[1].metric.benchmark}),
      testing::UnorderedElementsAre("kernel-launch", "gemm-flops"));
}

TEST(History, GoogleBenchmarkSaysHostProgramAndDate) {
  const History history = Read(
      "googlebenchmark",
      R"({"context":{"date":"2026-03-04T10:11:12+01:00","host_name":"dev1","executable":"./bin/mem_test"},)"
      R"("benchmarks":[{"name":"BM_Copy/8","run_name":"BM_Copy/8","run_type":"iteration","iterations":10,)"
      R"("real_time":12.5,"cpu_time":12.0,"time_unit":"ns"}]})");
  ASSERT_EQ(history.metrics.size(), 2U);
  EXPECT_EQ(history.metrics[0].metric.node, "dev1");
  EXPECT_EQ(history.metrics[0].metric.benchmark, "mem_test");
  EXPECT_EQ(history.metrics[0].metric.labels.at("case"), "BM_Copy/8");
  EXPECT_EQ(history.metrics[0].metric.time_unix_ns, 1'772'615'472'000'000'000);
}

TEST(History, UnknownToolsAreRefused) { EXPECT_FALSE(ReadHistory("excel", "", {}).ok()); }

TEST(ReferenceList, TheNewestOfASeriesCountsAndItIsConfiguration) {
  ReferenceList list;
  for (const History& history : {Read("reframe", kHeader + Row("n01", "2026-07-04T10:00:00", "99.5")),
                                 Read("reframe", kHeader + Row("n02", "2026-07-03T10:00:00", "99.5"))}) {
    for (const HistoryMetric& metric : history.metrics) list.Add(metric);
  }
  EXPECT_EQ(list.size(), 1U);
  EXPECT_THAT(list.Yaml(), HasSubstr("references:\n  - benchmark: \"Bw\"\n    metric: bw\n    labels:\n"));
  EXPECT_THAT(list.Yaml(), HasSubstr("    value: 100\n    unit: \"MB/s\"\n    lower: -0.05\n"));
  HistoryMetric wrong = Read("reframe", kHeader + Row("n01", "2026-07-04T10:00:00", "99.5")).metrics[0];
  wrong.metric.metric = "other";
  wrong.reference->set_lower(0.1);
  list.Add(wrong);
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(ReferenceList().Yaml(), "references: []\n");
}

TEST(WrittenTime, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", "yesterday", "-5", "1e300", "2026-13-01T00:00:00", "nan"}) {
    EXPECT_FALSE(ReadWrittenTime(text, absl::UTCTimeZone()).ok()) << text;
  }
  EXPECT_EQ(ReadWrittenTime("20260304T101112+0100", absl::UTCTimeZone()).value(), 1'772'615'472'000'000'000);
}

}  // namespace
}  // namespace fleetmark
