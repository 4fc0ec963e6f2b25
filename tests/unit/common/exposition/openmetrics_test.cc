#include "common/exposition/openmetrics.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(OpenMetricsTest, Samples) {
  OpenMetricsReader reader;
  const auto sample = reader.Line(R"(a:b_total{x="1",y="q\"\\\n"} -1.5e3 1790000000.123456789 # {id="7"} 1)");
  ASSERT_TRUE(sample.ok()) << sample.status();
  ASSERT_TRUE(sample->has_value());
  EXPECT_EQ((*sample)->name, "a:b_total");
  EXPECT_EQ((*sample)->labels.at("y"), "q\"\\\n");
  EXPECT_EQ((*sample)->value, -1500);
  EXPECT_EQ((*sample)->time_unix_ns, 1'790'000'000'123'456'789);
  EXPECT_TRUE(std::isnan((**reader.Line("a NaN")).value));
  EXPECT_TRUE(std::isinf((**reader.Line("a{} +Inf 1")).value));
  EXPECT_EQ((**reader.Line("a 1 -1.5")).time_unix_ns, -1'500'000'000);
  EXPECT_EQ((**reader.Line("a 1 1.79e9")).time_unix_ns, 1'790'000'000'000'000'000);
  EXPECT_FALSE((**reader.Line("a 1")).time_unix_ns.has_value());
}

TEST(OpenMetricsTest, UnitsAndTheEnd) {
  OpenMetricsReader reader;
  EXPECT_FALSE(reader.Line("# TYPE a_seconds gauge")->has_value());
  EXPECT_FALSE(reader.Line("# UNIT a_seconds seconds")->has_value());
  EXPECT_EQ(reader.UnitOf("a_seconds"), "seconds");
  EXPECT_EQ(reader.UnitOf("b"), "");
  EXPECT_FALSE(reader.ended());
  EXPECT_TRUE(reader.Line("# EOF").ok());
  EXPECT_TRUE(reader.ended());
  EXPECT_FALSE(reader.Line("a 1").ok());
}

TEST(OpenMetricsTest, BrokenLinesSayWhatIsWrongAndAreForgotten) {
  OpenMetricsReader reader;
  for (const std::string line : {"1a 1", "a", "a x", "a 1 2 3", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"\\q\"} 1",
                                 "a{x=\"1\"y=\"2\"} 1", "a{x=\"1\",x=\"2\"} 1", "a{=\"1\"} 1", "a{x} 1",
                                 "a 1 9e300", "a 1 NaN", "a 0x10", "a{x=\"\xff\"} 1"}) {
    const auto sample = reader.Line(line);
    EXPECT_TRUE(absl::IsInvalidArgument(sample.status())) << line;
  }
  EXPECT_FALSE(reader.Line("a{x=\"" + std::string(70'000, 'y') + "\"} 1").ok());
  EXPECT_TRUE(reader.Line("a 1").ok());
}

}  // namespace
}  // namespace fleetmark
