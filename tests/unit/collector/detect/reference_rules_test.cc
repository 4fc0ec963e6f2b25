#include "collector/detect/reference_rules.h"

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

v1::SeriesKey Key(const std::string& node, const std::string& metric, const std::string& unit) {
  v1::SeriesKey key;
  key.set_node(node);
  key.set_benchmark("stream");
  key.set_metric(metric);
  key.set_unit(unit);
  (*key.mutable_labels())["kernel"] = "copy";
  return key;
}

ReferenceRule Rule(double value, double lower, const std::string& unit) {
  ReferenceRule rule;
  rule.reference.set_value(value);
  rule.reference.set_lower(lower);
  rule.reference.set_unit(unit);
  return rule;
}

ReferenceRules Compiled(std::vector<ReferenceRule> rules) {
  auto compiled = ReferenceRules::Create(std::move(rules));
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return *std::move(compiled);
}

TEST(ReferenceRules, TheFirstMatchCounts) {
  ReferenceRule special = Rule(90, -0.1, "GB/s");
  special.node = "gpu*";
  const ReferenceRules rules = Compiled({special, Rule(50, -0.1, "GB/s")});
  EXPECT_EQ(rules.Find(Key("gpu7", "bw", "GB/s"), {})->rule, 0u);
  EXPECT_EQ(rules.Find(Key("cpu7", "bw", "GB/s"), {})->rule, 1u);
}

TEST(ReferenceRules, EverySelectorFieldRestricts) {
  ReferenceRule rule = Rule(90, -0.1, "GB/s");
  rule.node = "n1";
  rule.node_labels = {{"rack", "r1"}};
  rule.benchmark = "stream";
  rule.metric = "bw";
  rule.labels = {{"kernel", "copy"}};
  const Labels node_labels = {{"rack", "r1"}, {"cluster", "c"}};
  EXPECT_TRUE(Compiled({rule}).Find(Key("n1", "bw", "GB/s"), node_labels).has_value());
  EXPECT_TRUE(Compiled({rule}).uses_node_labels());
  const auto without_match = [&](auto change) {
    ReferenceRule other = rule;
    change(other);
    return !Compiled({other}).Find(Key("n1", "bw", "GB/s"), node_labels).has_value();
  };
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.node = "n2"; }));
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.node_labels["rack"] = "r2"; }));
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.benchmark = "gemm"; }));
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.metric = "latency"; }));
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.labels["kernel"] = "add"; }));
  EXPECT_TRUE(without_match([](ReferenceRule& r) { r.labels["device"] = "0"; }));
}

TEST(ReferenceRules, ConvertsTheReferenceToTheSeriesUnit) {
  const auto match = Compiled({Rule(2, -0.1, "GB/s")}).Find(Key("n", "bw", "MB/s"), {});
  ASSERT_TRUE(match.has_value() && match->reference.has_value());
  EXPECT_DOUBLE_EQ(match->reference->value(), 2000);
  EXPECT_DOUBLE_EQ(match->reference->lower(), -0.1);  // a fraction
  EXPECT_EQ(match->reference->unit(), "MB/s");
}

TEST(ReferenceRules, ConvertsTheAbsoluteTolerancesOfAReferenceOfZero) {
  ReferenceRule rule = Rule(0, -1, "s");
  rule.reference.set_upper(2);
  const auto match = Compiled({rule}).Find(Key("n", "offset", "ms"), {});
  ASSERT_TRUE(match.has_value() && match->reference.has_value());
  EXPECT_DOUBLE_EQ(match->reference->lower(), -1000);
  EXPECT_DOUBLE_EQ(match->reference->upper(), 2000);
}

TEST(ReferenceRules, AUnitThatMeasuresSomethingElseIsAProblemOfTheRule) {
  const ReferenceRules rules = Compiled({Rule(2, -0.1, "GB/s")});
  const auto match = rules.Find(Key("n", "bw", "s"), {});
  ASSERT_TRUE(match.has_value());
  EXPECT_FALSE(match->reference.has_value());
  EXPECT_NE(match->problem.find("references[0]"), std::string::npos) << match->problem;
}

TEST(ReferenceRules, BadRulesAreRefusedByPosition) {
  for (const ReferenceRule& bad : {Rule(1, 0.1, "s"), Rule(1, -0.1, "GBs")}) {
    const absl::Status status = ReferenceRules::Create({Rule(1, -0.1, "s"), bad}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_NE(status.message().find("references[1]"), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace fleetmark::collector
