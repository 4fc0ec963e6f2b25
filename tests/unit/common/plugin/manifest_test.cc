#include "common/plugin/manifest.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

constexpr char kGood[] = R"(api: 1
name: stream
version: "2.1"
summary: memory bandwidth
command: [./stream, --all]
resources:
  cpu: exclusive
  net: shared
  memory: 2GiB
privileges: none
timeout: 2m
params:
  size:
    type: bytes
    default: 64MiB
    min: 1MiB
    max: 4GiB
    summary: bytes of an array
  pause:
    type: duration
    default: 1m30s
    summary: between rounds
  kernel:
    type: string
    default: triad
    choices: [copy, triad]
    summary: which
  rounds:
    type: int
    summary: how many
metrics:
  - name: rate
    unit: GB/s
    better: higher
    noise: 0.02
    labels: [node, kernel]
    summary: best of all
  - name: latency
    unit: ns
    better: lower
    required: false
self_check:
  params:
    rounds: 2
  timeout: 10s
)";

TEST(ManifestTest, ReadsEverything) {
  const auto manifest = ParseManifest(kGood, "m.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->name, "stream");
  EXPECT_EQ(manifest->version, "2.1");
  EXPECT_THAT(manifest->command, testing::ElementsAre("./stream", "--all"));
  EXPECT_EQ(manifest->resources.cpu, ResourceUse::kExclusive);
  EXPECT_EQ(manifest->resources.net, ResourceUse::kShared);
  EXPECT_EQ(manifest->resources.disk, ResourceUse::kNone);
  EXPECT_EQ(manifest->resources.memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(manifest->timeout, absl::Minutes(2));
  EXPECT_EQ(manifest->FindParam("size")->default_json, "67108864");
  EXPECT_EQ(manifest->FindParam("size")->min, 1 << 20);
  EXPECT_EQ(manifest->FindParam("pause")->default_json, "90");
  EXPECT_EQ(manifest->FindParam("rounds")->default_json, std::nullopt);
  EXPECT_EQ(manifest->FindMetric("rate")->better, v1::BETTER_HIGHER);
  EXPECT_THAT(manifest->FindMetric("rate")->labels, testing::ElementsAre("node", "kernel"));
  EXPECT_FALSE(manifest->FindMetric("latency")->required);
  EXPECT_EQ(manifest->FindMetric("other"), nullptr);
  EXPECT_EQ(manifest->self_check.params_json, R"({"rounds":2})");
  EXPECT_EQ(manifest->self_check.timeout, absl::Seconds(10));
}

// The good manifest with `from` replaced must fail at its place with a message that has `fault`.
struct FaultCase {
  const char* from;
  const char* to;
  const char* fault;
};

class ManifestFaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(ManifestFaultTest, IsReported) {
  const FaultCase& c = GetParam();
  const std::string text = absl::StrReplaceAll(kGood, {{c.from, c.to}});
  ASSERT_NE(text, kGood);
  const auto manifest = ParseManifest(text, "m.yaml");
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(manifest.status().message()), testing::StartsWith("m.yaml:"));
  EXPECT_THAT(std::string(manifest.status().message()), HasSubstr(c.fault));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ManifestFaultTest,
    testing::Values(
        FaultCase{"api: 1", "api: 2", "m.yaml:1:1: api: must be"},
        FaultCase{"name: stream", "name: Stream", "m.yaml:2:1: name: the name 'Stream'"},
        FaultCase{"version: \"2.1\"", "version: \"\"", "version: must not be empty"},
        FaultCase{"summary: memory bandwidth", "summary: \"two\\nlines\"", "summary: must be one line"},
        FaultCase{"summary: memory bandwidth", "sumary: x", "did you mean 'summary'?"},
        FaultCase{"command: [./stream, --all]", "command: []", "command: must list the program"},
        FaultCase{"command: [./stream, --all]", "", "command: is missing"},
        FaultCase{"[./stream,", "[bin/stream,", "must begin with ./"},
        FaultCase{"[./stream,", "[./../stream,", "inside the plugin's folder"},
        FaultCase{"cpu: exclusive", "cpu: all", "resources.cpu: must be one of exclusive, shared"},
        FaultCase{"net: shared", "nte: shared", "did you mean 'net'?"},
        FaultCase{"memory: 2GiB", "memory: lots", "resources.memory:"},
        FaultCase{"privileges: none", "privileges: admin", "privileges: must be one of none, root"},
        FaultCase{"timeout: 2m", "timeout: 2 minutes", "timeout:"},
        FaultCase{"timeout: 2m", "timeout: 100ms", "timeout: must be between"},
        FaultCase{"type: bytes", "type: byte", "params.size.type: must be one of"},
        FaultCase{"default: 64MiB", "default: 1KiB", "params.size.default: must be at least 1MiB"},
        FaultCase{"min: 1MiB", "min: 8GiB", "params.size.max: must not be below min"},
        FaultCase{"default: triad", "default: add", "must be one of copy, triad"},
        FaultCase{"default: triad", "default: 5", "must be text"},
        FaultCase{"choices: [copy, triad]", "choices: []", "choices: must list"},
        FaultCase{"choices: [copy, triad]", "min: 5", "have a range"},
        FaultCase{"default: 1m30s", "choices: [a]", "only string has choices"},
        FaultCase{"    summary: how many\n", "", "params.rounds.summary: is missing"},
        FaultCase{"  rounds:\n", "  Rounds:\n", "the parameter's name 'Rounds'"},
        FaultCase{"unit: GB/s", "unit: GB/S", "did you mean 'GB/s'?"},
        FaultCase{"better: higher", "better: more", "better: must be one of higher, lower, none"},
        FaultCase{"noise: 0.02", "noise: 20", "noise: must be"},
        FaultCase{"[node, kernel]", "[node, node]", "label 'node' is listed twice"},
        FaultCase{"[node, kernel]", "[a, b, c, d, e, f, g, h, i]", "more than 8 labels"},
        FaultCase{"name: latency", "name: rate", "metric 'rate' is listed twice"},
        FaultCase{"required: false", "required: no way", "required: must be true or false"},
        FaultCase{"rounds: 2", "rnds: 2", "unknown parameter 'rnds'"},
        FaultCase{"rounds: 2", "size: 1MiB", "parameter rounds: is missing"},
        FaultCase{"timeout: 10s", "timeout: 0s", "self_check.timeout: must be"},
        FaultCase{"privileges: none", "name: again", "name"}));

TEST(ManifestTest, ReportsAllFaultsAtOnceInOrder) {
  const auto manifest =
      ParseManifest("api: 3\nname: 1x\nmetrics:\n  - {name: a, unit: parsec, better: up}\n", "m.yaml");
  const std::string message(manifest.status().message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 6) << message;
  EXPECT_LT(message.find("api"), message.find("parsec"));
}

TEST(ManifestTest, NeedsMetricsUnlessDynamic) {
  const std::string head = "api: 1\nname: a\nversion: 1\nsummary: s\ncommand: [true]\n";
  EXPECT_FALSE(ParseManifest(head, "m").ok());
  EXPECT_FALSE(ParseManifest(head + "metrics: []\n", "m").ok());
  EXPECT_TRUE(ParseManifest(head + "dynamic_metrics: true\n", "m").ok());
}

TEST(ManifestTest, RefusesWhatIsNoYaml) {
  EXPECT_FALSE(ParseManifest("[", "m").ok());
  EXPECT_FALSE(ParseManifest("", "m").ok());
  EXPECT_FALSE(ParseManifest("- a\n", "m").ok());
  EXPECT_FALSE(ParseManifest(std::string(1 << 20, '#'), "m").ok());
}

}  // namespace
}  // namespace fleetmark
