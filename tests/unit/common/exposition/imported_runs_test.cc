#include "common/exposition/imported_runs.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"
#include "common/exposition/csv.h"
#include "common/model/series.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

constexpr int64_t kTime = 1'790'000'000'000'000'000;

ImportedMetric Metric(const std::string& name, double value, int64_t time = kTime) {
  return {"n1", "stream", name, "GB/s", {{"device", "gpu0"}}, value, time};
}

TEST(ImportedRunsTest, OneRunForEachNodeBenchmarkAndTime) {
  ImportedRuns runs;
  EXPECT_TRUE(runs.Add(Metric("copy", 1), 3).ok());
  EXPECT_TRUE(runs.Add(Metric("triad", 2), 4).ok());
  EXPECT_TRUE(runs.Add(Metric("copy", 3, kTime + 1), 5).ok());
  const auto taken = runs.Take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].line, 3U);
  EXPECT_EQ(taken[0].run.run().metrics_size(), 2);
  EXPECT_EQ(taken[0].run.run().trigger(), v1::TRIGGER_IMPORT);
  EXPECT_TRUE(CheckRun(taken[0].run.run()).ok());
  EXPECT_TRUE(runs.Take().empty());
}

TEST(ImportedRunsTest, TheSameContentIsTheSameRunAndOtherContentAnother) {
  const auto id = [](double value, const std::string& name) {
    ImportedRuns runs;
    EXPECT_TRUE(runs.Add(Metric(name, value), 1).ok());
    return runs.Take()[0].run.run().run_id();
  };
  EXPECT_EQ(id(1, "copy"), id(1, "copy"));
  EXPECT_NE(id(1, "copy"), id(2, "copy"));
  EXPECT_NE(id(1, "copy"), id(1, "triad"));
}

TEST(ImportedRunsTest, WhatCanNotBeIsRefusedAndTheRestStays) {
  ImportedRuns runs;
  EXPECT_TRUE(runs.Add(Metric("copy", 1), 1).ok());
  EXPECT_FALSE(runs.Add(Metric("copy", 2), 2).ok());  // the same metric twice in one run
  EXPECT_FALSE(runs.Add(Metric("Copy!", 1), 3).ok());
  EXPECT_FALSE(runs.Add(Metric("copy", std::numeric_limits<double>::infinity(), kTime + 1), 4).ok());
  EXPECT_FALSE(runs.Add(Metric("copy", 1, -1), 5).ok());
  ImportedMetric bad = Metric("copy", 1);
  bad.node = "not a node";
  EXPECT_FALSE(runs.Add(bad, 6).ok());
  bad = Metric("copy", 1, kTime + 2);
  bad.unit = "furlong";
  EXPECT_THAT(Message(runs.Add(bad, 7)), HasSubstr("unit"));
  const auto taken = runs.Take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].run.run().metrics_size(), 1);
}

TEST(FromSampleTest, NodeBenchmarkAndUnit) {
  const auto from = [](const std::string& line, const ImportDefaults& defaults = {}) {
    OpenMetricsReader reader;
    return FromSample(**reader.Line(line), defaults);
  };
  const auto foreign =
      from(R"(node_disk_read_seconds{instance="h7:9100",job="disks",device="sda",Mode="r"} 1 1.5)");
  ASSERT_TRUE(foreign.ok());
  EXPECT_EQ(foreign->node, "h7");
  EXPECT_EQ(foreign->benchmark, "disks");
  EXPECT_EQ(foreign->metric, "node_disk_read_seconds");
  EXPECT_EQ(foreign->unit, "s");
  EXPECT_EQ(foreign->labels, (std::map<std::string, std::string>{{"device", "sda"}, {"mode", "r"}}));
  // What Fleetmark wrote comes back as it was.
  const auto own =
      from(R"(fleetmark_stream_triad_gigabytes_per_second{node="n1",benchmark="stream",node_rack="r1",)"
           R"(plugin="stream",params="00",device="cpu"} 1 1.5)");
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->metric, "triad");
  EXPECT_EQ(own->unit, "GB/s");
  EXPECT_EQ(own->labels, (std::map<std::string, std::string>{{"device", "cpu"}}));
  EXPECT_FALSE(from("a 1 1.5").ok());
  EXPECT_EQ(from("a 1 1.5", {.node = "n9"})->node, "n9");
  EXPECT_EQ(from("a 1 1.5", {.node = "n9"})->benchmark, "imported");
  EXPECT_FALSE(from("a{node=\"n1\"} 1").ok());
}

TEST(CsvTest, Rows) {
  CsvReader reader;
  EXPECT_FALSE(reader.Line("time,node,benchmark,metric,value,unit,device\r")->has_value());
  const auto row = reader.Line(R"(2026-09-21T14:13:20Z,n1,stream,triad,187.42,GB/s,"gpu ""0"", left")");
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ((*row)->time_unix_ns, kTime);
  EXPECT_EQ((*row)->value, 187.42);
  EXPECT_EQ((*row)->labels.at("device"), "gpu \"0\", left");
  EXPECT_TRUE((**reader.Line("1790000000.5,n1,stream,triad,1,GB/s,")).labels.empty());
  for (const std::string bad :
       {"1,2", "x,n1,b,m,1,1,", "1,n1,b,m,one,1,", "1,n1,b,m,1,1,\"x", "1,n1,b,m,1,1,\"x\"y"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(reader.Line(bad).status())) << bad;
  }
  EXPECT_FALSE(reader.HeaderFailed());
}

TEST(CsvTest, AWrongHeaderIsFinal) {
  for (const std::string bad : {"time,node,benchmark,metric", "time,node,benchmark,metric,value,value",
                                "time,node,benchmark,metric,value,Bad Name"}) {
    CsvReader reader;
    EXPECT_FALSE(reader.Line(bad).ok()) << bad;
    EXPECT_TRUE(reader.HeaderFailed()) << bad;
  }
}

}  // namespace
}  // namespace fleetmark
