#include "common/plugin/protocol.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;
using Kind = PluginEvent::Kind;

PluginManifest Manifest() {
  PluginManifest manifest;
  manifest.metrics = {{"rate", "GB/s", v1::BETTER_HIGHER, 0, {"device"}, true, ""}};
  return manifest;
}

TEST(ProtocolTest, ReadsEachType) {
  const PluginManifest manifest = Manifest();
  auto event = ParseLine(
      R"({"type":"metric","name":"rate","value":-1.5e3,"unit":"GB/s","labels":{"device":"a"}})", manifest);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->kind, Kind::kMetric);
  EXPECT_EQ(event->metric.value(), -1500);
  EXPECT_EQ(event->metric.labels().at("device"), "a");
  EXPECT_EQ(event->metric.better(), v1::BETTER_HIGHER);
  event = ParseLine(R"({"type":"sample","name":"rate","value":0,"unit":"GB/s","better":"higher"})", manifest);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->kind, Kind::kSample);
  event = ParseLine(R"({"type":"progress","fraction":1,"message":"m"})", manifest);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->fraction, 1);
  EXPECT_EQ(ParseLine(R"({"type":"event","message":"m"})", manifest)->kind, Kind::kEvent);
  EXPECT_EQ(ParseLine(R"({"type":"log","message":"m"})", manifest)->message, "m");
  EXPECT_EQ(ParseLine(R"({"type":"invalid","message":"m"})", manifest)->kind, Kind::kInvalid);
  EXPECT_EQ(ParseLine(R"({"type":"artifact","name":"n","path":"d/f"})", manifest)->path, "d/f");
  EXPECT_EQ(ParseLine(R"( {"type":"done"})", manifest)->kind, Kind::kLog);
  EXPECT_EQ(ParseLine("{\"type\":\"done\"}\r", manifest)->kind, Kind::kDone);
}

TEST(ProtocolTest, OtherTextIsLog) {
  const auto event = ParseLine("NCCL INFO \xFF", Manifest());
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->kind, Kind::kLog);
  EXPECT_EQ(event->message, "NCCL INFO \xEF\xBF\xBD");
  EXPECT_TRUE(event->repaired);
}

TEST(ProtocolTest, UnknownFieldsAreIgnoredAndTold) {
  const auto event = ParseLine(R"({"type":"log","message":"m","later":{"a":[1]}})", Manifest());
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(event->unknown_fields);
  EXPECT_FALSE(ParseLine(R"({"type":"log","message":"m"})", Manifest())->unknown_fields);
}

struct BadLine {
  const char* line;
  const char* fault;
};

class BadLineTest : public testing::TestWithParam<BadLine> {};

TEST_P(BadLineTest, IsInvalid) {
  const auto event = ParseLine(GetParam().line, Manifest());
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(event.status().message()), HasSubstr(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadLineTest,
    testing::Values(
        BadLine{"{", "not JSON"}, BadLine{"{}", "'type' is missing"},
        BadLine{R"({"type":"metrc"})", "did you mean 'metric'?"}, BadLine{R"({'type':'done'})", "not JSON"},
        BadLine{R"({"type":"done","type":"done"})", "comes twice"},
        BadLine{R"({"type":"done"} {})", "something follows"}, BadLine{R"({"type":5})", "wrong type"},
        BadLine{R"({"type":["a"]})", "wrong type"},
        BadLine{R"({"type":"metric","name":"rate","value":"1.5","unit":"GB/s"})", "without quotes"},
        BadLine{R"({"type":"metric","name":"rate","value":"NaN","unit":"GB/s"})", "without quotes"},
        BadLine{R"({"type":"metric","name":"rate","value":null,"unit":"GB/s"})", "without quotes"},
        BadLine{R"({"type":"metric","name":"rate","value":NaN,"unit":"GB/s"})", "finite"},
        BadLine{R"({"type":"metric","name":"rate","value":-1e999,"unit":"GB/s"})", "not finite"},
        BadLine{R"({"type":"metric","name":"rate","unit":"GB/s"})", "no value"},
        BadLine{R"({"type":"metric","name":"rate","value":1})", "unit ''"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"MB/s"})", "manifest says 'GB/s'"},
        BadLine{R"({"type":"metric","name":"rat","value":1,"unit":"GB/s"})", "did you mean 'rate'?"},
        BadLine{R"({"type":"metric","name":"Rate","value":1,"unit":"GB/s"})", "metric name"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","better":"lower"})", "other than"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","better":"up"})",
                "higher, lower or none"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","labels":{"gpu":"0"}})",
                "does not list"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","labels":{"device":"\u0000"}})",
                "control"},
        BadLine{R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","labels":{"device":5.5e}})",
                "not JSON"},
        BadLine{"{\"type\":\"metric\",\"name\":\"rate\",\"value\":1,\"unit\":\"GB/"
                "s\",\"labels\":{\"device\":\"\xFF\"}}",
                "UTF-8"},
        BadLine{R"({"type":"progress","fraction":1.5})", "between 0 and 1"},
        BadLine{R"({"type":"progress","fraction":"0.5"})", "without quotes"},
        BadLine{R"({"type":"artifact","name":"n","path":"../x"})", "inside the working folder"},
        BadLine{R"({"type":"artifact","name":"n","path":"/etc/passwd"})", "inside the working folder"},
        BadLine{R"({"type":"artifact","name":"n"})", "needs a name and a path"}));

TEST(ProtocolTest, LimitsAreToldApart) {
  PluginManifest manifest = Manifest();
  manifest.dynamic_metrics = true;
  std::string labels;
  for (int i = 0; i < 9; ++i) absl::StrAppend(&labels, i == 0 ? "" : ",", "\"l", i, "\":\"\"");
  EXPECT_TRUE(absl::IsResourceExhausted(
      ParseLine(R"({"type":"metric","name":"m","value":1,"unit":"s","labels":{)" + labels + "}}", manifest)
          .status()));
  EXPECT_TRUE(absl::IsResourceExhausted(
      ParseLine(R"({"type":"metric","name":"m","value":1,"unit":"s","labels":{"a":")" +
                    std::string(257, 'x') + "\"}}",
                manifest)
          .status()));
}

TEST(ProtocolTest, DynamicMetricsAreFree) {
  PluginManifest manifest = Manifest();
  manifest.dynamic_metrics = true;
  const auto event = ParseLine(
      R"({"type":"metric","name":"loss","value":1,"unit":"1","better":"lower","labels":{"any":"x"}})",
      manifest);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->metric.better(), v1::BETTER_LOWER);
  EXPECT_FALSE(ParseLine(R"({"type":"metric","name":"loss","value":1,"unit":"parsec"})", manifest).ok());
  EXPECT_FALSE(ParseLine(R"({"type":"metric","name":"rate","value":1,"unit":"1"})", manifest).ok());
}

}  // namespace
}  // namespace fleetmark
