#include "plugins/parse/regex_spec.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::parse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& json) {
  std::string error;
  EXPECT_FALSE(RegexSpecFromJson(nlohmann::json::parse(json), &error).has_value()) << json;
  return error;
}

TEST(RegexSpec, ReadsEveryKey) {
  std::string error;
  const auto spec = RegexSpecFromJson(nlohmann::json::parse(R"json({
      "command": ["left to the caller"],
      "metrics": [{"name": "triad", "unit": "GB/s", "better": "higher", "pattern": "T (\\d+)", "reduce": "max",
                   "scale": 0.001, "labels": {"array": 10}}],
      "sanity": ["ok"], "sanity_not": ["bad", "worse"]})json"),
                                      &error);
  ASSERT_TRUE(spec.has_value()) << error;
  ASSERT_EQ(spec->metrics.size(), 1U);
  const MetricPattern& metric = spec->metrics[0];
  EXPECT_EQ(metric.name, "triad");
  EXPECT_EQ(metric.unit, "GB/s");
  EXPECT_EQ(metric.better, "higher");
  EXPECT_EQ(metric.pattern, "T (\\d+)");
  EXPECT_EQ(metric.reduce, Reduce::kMax);
  EXPECT_EQ(metric.scale, 0.001);
  EXPECT_EQ(metric.labels.at("array"), "10");
  EXPECT_THAT(spec->must_match, ElementsAre("ok"));
  EXPECT_THAT(spec->must_not_match, ElementsAre("bad", "worse"));
}

// A spec whose one metric is right but for what `more` adds.
std::string With(const std::string& more) {
  return R"json({"metrics": [{"name": "a", "unit": "s", "better": "lower", "pattern": "(1)")json" + more;
}

TEST(RegexSpec, ErrorsNameTheKeyAndWhatItHolds) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("must be a map"));
  EXPECT_THAT(ErrorOf(R"({"metrics": []})"), HasSubstr("at least one map"));
  EXPECT_THAT(ErrorOf(R"({"metrics": [5]})"), HasSubstr("'metrics[0]': must be a map"));
  EXPECT_THAT(ErrorOf(R"({"metrics": [{"name": "a", "unit": "s"}]})"), HasSubstr("'better' must be set"));
  EXPECT_THAT(ErrorOf(R"({"metrics": [{"nam": "a"}]})"), HasSubstr("unknown key 'nam'"));
  EXPECT_THAT(ErrorOf(With(R"(, "reduce": "sum"}]})")), HasSubstr(R"(not "sum")"));
  EXPECT_THAT(ErrorOf(With(R"(, "scale": 0}]})")), HasSubstr("other than 0"));
  EXPECT_THAT(ErrorOf(With(R"(, "labels": []}]})")), HasSubstr("'labels' must be a map"));
  EXPECT_THAT(ErrorOf(With(R"(}], "sanity": "ok"})")), HasSubstr("'sanity' must be a list"));
}

}  // namespace
}  // namespace fleetmark::parse
