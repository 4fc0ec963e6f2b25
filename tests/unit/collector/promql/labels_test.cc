// Label sets, matchers, and how Fleetmark's series are called.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/promql/label_set.h"
#include "collector/promql/matcher.h"
#include "collector/promql/series_naming.h"
#include "common/model/unit_words.h"
#include "common/model/units.h"

namespace fleetmark::collector::promql {
namespace {

Matcher Make(Matcher::Op op, const std::string& name, const std::string& value) {
  absl::StatusOr<Matcher> matcher = Matcher::Create(op, name, value);
  EXPECT_TRUE(matcher.ok()) << matcher.status();
  return *std::move(matcher);
}

TEST(LabelSetTest, SortedWithoutEmptyOnes) {
  LabelSet labels({{"b", "2"}, {"a", "1"}, {"c", ""}, {"a", "other"}});
  EXPECT_EQ(labels.ToString(), "{a=\"1\", b=\"2\"}");
  labels.Set("__name__", "m");
  labels.Set("a", "");
  EXPECT_EQ(labels.ToString(), "m{b=\"2\"}");
  EXPECT_EQ(labels.Get("a"), "");
  EXPECT_EQ(labels.Keeping({"b"}), LabelSet(std::vector<Label>{{"b", "2"}}));
  EXPECT_EQ(labels.Dropping({"b"}).WithoutName(), LabelSet());
}

TEST(MatcherTest, WholeValuesAndBadExpressions) {
  EXPECT_TRUE(Make(Matcher::Op::kRegex, "a", "n[12]|x").Matches("n1"));
  EXPECT_FALSE(Make(Matcher::Op::kRegex, "a", "n[12]|x").Matches("n12"));
  EXPECT_TRUE(Make(Matcher::Op::kNotRegex, "a", "n.*").Matches(""));
  EXPECT_FALSE(Matcher::Create(Matcher::Op::kRegex, "a", "(").ok());
  EXPECT_FALSE(Matcher::Create(Matcher::Op::kRegex, "a", "((a{1000}){1000}){1000}").ok());
}

TEST(RewriterTest, AsGoExpands) {
  const auto rewrite = [](const std::string& pattern, const std::string& replacement,
                          const std::string& text) {
    std::string out = "(none)";
    const auto rewriter = Rewriter::Create(pattern, replacement);
    EXPECT_TRUE(rewriter.ok());
    return rewriter->Rewrite(text, &out) ? out : "(none)";
  };
  EXPECT_EQ(rewrite("n(.*)", "$1-$1", "n12"), "12-12");
  EXPECT_EQ(rewrite("n(.*)", "$1x", "n12"), "");
  EXPECT_EQ(rewrite("n(.*)", "${1}x$$", "n12"), "12x$");
  EXPECT_EQ(rewrite("n(?P<num>.)", "${num}", "n1"), "1");
  EXPECT_EQ(rewrite("n(.*)", "$7", "n12"), "");
  EXPECT_EQ(rewrite("n", "x", "n12"), "(none)");
}

v1::SeriesKey Key(const std::string& benchmark, const std::string& metric, const std::string& unit) {
  v1::SeriesKey key;
  key.set_node("n1");
  key.set_benchmark(benchmark);
  key.set_metric(metric);
  key.set_unit(unit);
  key.set_plugin("stream");
  key.set_plugin_version("1.2");
  key.set_params_digest("00ff");
  return key;
}

TEST(SeriesNamingTest, Names) {
  EXPECT_EQ(MetricNameOf(Key("stream", "triad", "GB/s")), "fleetmark_stream_triad_gigabytes_per_second");
  EXPECT_EQ(MetricNameOf(Key("hpl-2.3", "rmax", "TFLOP/s")), "fleetmark_hpl_2_3_rmax_teraflop_per_second");
  EXPECT_EQ(UnitWords("GFLOP/s/W"), "gigaflop_per_second_per_watt");
  EXPECT_EQ(UnitWords("%"), "percent");
  EXPECT_EQ(UnitWords("MiB/s"), "mebibytes_per_second");
  EXPECT_EQ(UnitWords("Gbit/s"), "gigabits_per_second");
  EXPECT_EQ(UnitWords("min"), "minutes");
  EXPECT_EQ(UnitWords("furlong/fortnight"), "furlong_fortnight");
}

TEST(SeriesNamingTest, EveryKnownUnitHasItsOwnWords) {
  std::vector<std::string> words;
  for (const Unit& unit : AllUnits()) {
    words.push_back(UnitWords(unit.name));
    EXPECT_TRUE(IsLabelName(words.back())) << unit.name << " is " << words.back();
  }
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end())
      << *std::adjacent_find(words.begin(), words.end());
}

TEST(UnitWordsTest, FoundAtTheEndOfNames) {
  for (const Unit& unit : AllUnits()) EXPECT_EQ(UnitOfName("some_metric_" + UnitWords(unit.name)), unit.name);
  EXPECT_EQ(UnitOfName("read_gigabytes_per_second"), "GB/s");
  EXPECT_EQ(UnitOfName("duration_seconds"), "s");
  EXPECT_EQ(UnitOfName("nanoseconds_of_luck"), "");
  EXPECT_EQ(UnitOfName("milliseconds"), "ms");
}

TEST(SeriesNamingTest, LabelsOfMetricAndNodeStayApart) {
  v1::SeriesKey key = Key("stream", "triad", "GB/s");
  (*key.mutable_labels())["device"] = "gpu3";
  (*key.mutable_labels())["node"] = "inner";
  (*key.mutable_labels())["node_rack"] = "mine";
  const LabelSet labels = LabelsOf(key, {{"rack", "r7"}, {"topology.kubernetes.io/zone", "a"}});
  EXPECT_EQ(labels.ToString(),
            "fleetmark_stream_triad_gigabytes_per_second{benchmark=\"stream\", device=\"gpu3\", "
            "metric_node=\"inner\", metric_node_rack=\"mine\", node=\"n1\", node_rack=\"r7\", "
            "node_topology_kubernetes_io_zone=\"a\", params=\"00ff\", plugin=\"stream\", "
            "plugin_version=\"1.2\"}");
}

}  // namespace
}  // namespace fleetmark::collector::promql
