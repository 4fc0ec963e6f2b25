#include "collector/fleet/silence.h"

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);
const absl::Time kLongAgo = kNow - absl::Hours(24 * 90);

NodeActivity Connected(absl::Time last_run, const std::string& schedule = "every 15m") {
  NodeActivity node;
  node.node = "n1";
  node.connected = true;
  node.last_seen = kNow;
  PlannedBenchmark benchmark;
  benchmark.name = "stream";
  benchmark.schedule = schedule;
  benchmark.last_run = last_run;
  benchmark.known_since = kLongAgo;
  node.benchmarks.push_back(benchmark);
  return node;
}

TEST(JudgeSilence, AResultInTimeIsNoSilence) {
  EXPECT_TRUE(JudgeSilence(Connected(kNow - absl::Minutes(59)), kLongAgo, kNow).empty());
}

TEST(JudgeSilence, AMissingResult) {
  const auto silent = JudgeSilence(Connected(kNow - absl::Minutes(61)), kLongAgo, kNow);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].benchmark, "stream");
  EXPECT_EQ(silent[0].since, kNow - absl::Minutes(61));
  EXPECT_EQ(silent[0].text, "stream has no result for 61 minutes (every 15m)");
}

TEST(JudgeSilence, ABenchmarkThatNeverRan) {
  NodeActivity node = Connected(absl::InfinitePast());
  node.benchmarks[0].known_since = kNow - absl::Hours(2);
  const auto silent = JudgeSilence(node, kLongAgo, kNow);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].text, "stream has never run, though it is planned (every 15m)");
  node.benchmarks[0].known_since = kNow - absl::Hours(1);
  EXPECT_TRUE(JudgeSilence(node, kLongAgo, kNow).empty());
}

TEST(JudgeSilence, WaitingWithAReasonIsExcusedForAWeek) {
  NodeActivity node = Connected(kNow - absl::Hours(24 * 6));
  node.waits_for = "the node is in use by Slurm job 7";
  EXPECT_TRUE(JudgeSilence(node, kLongAgo, kNow).empty());
  node.benchmarks[0].last_run = kNow - absl::Hours(24 * 8);
  const auto silent = JudgeSilence(node, kLongAgo, kNow);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].text,
            "stream has no result for 8 days (every 15m); it waits: the node is in use by Slurm job 7");
}

TEST(JudgeSilence, NothingIsSilentBecauseNobodyListened) {
  EXPECT_TRUE(JudgeSilence(Connected(kNow - absl::Hours(9)), kNow - absl::Minutes(50), kNow).empty());
  NodeActivity node = Connected(kNow);
  node.connected = false;
  node.last_seen = kNow - absl::Hours(3);
  EXPECT_TRUE(JudgeSilence(node, kNow - absl::Minutes(14), kNow).empty());
}

TEST(JudgeSilence, AnAgentThatIsGoneHidesItsBenchmarks) {
  NodeActivity node = Connected(kNow - absl::Hours(9));
  node.connected = false;
  node.last_seen = kNow - absl::Minutes(20);
  const auto silent = JudgeSilence(node, kLongAgo, kNow);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].benchmark, "");
  EXPECT_EQ(silent[0].text, "the agent of n1 is gone for 20 minutes");
}

TEST(JudgeSilence, ANodeThatIsGoneForWeeksIsForgotten) {
  NodeActivity node = Connected(kNow);
  node.connected = false;
  node.last_seen = kNow - absl::Hours(24 * 15);
  EXPECT_TRUE(JudgeSilence(node, kLongAgo, kNow).empty());
}

TEST(ExpectedInterval, OfCronIsWhatWasSeen) {
  PlannedBenchmark benchmark;
  benchmark.schedule = "0 3 * * *";
  EXPECT_EQ(ExpectedInterval(benchmark), absl::Hours(24 * 9));
  benchmark.longest_gap = absl::Hours(25);
  EXPECT_EQ(ExpectedInterval(benchmark), absl::Hours(25));
  benchmark.schedule = "every 2h";
  EXPECT_EQ(ExpectedInterval(benchmark), absl::Hours(2));
}

TEST(JoinSilences, ByTimeOfGoingAndByBenchmark) {
  const std::vector<Silent> silent = {{"n1", "", kNow, ""},
                                      {"n2", "", kNow + absl::Minutes(4), ""},
                                      {"n3", "", kNow + absl::Minutes(30), ""},
                                      {"n4", "stream", kNow, ""},
                                      {"n5", "stream", kNow + absl::Hours(2), ""},
                                      {"n5", "gemm", kNow, ""}};
  const auto groups = JoinSilences(silent);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0], (std::vector<size_t>{0, 1}));
  EXPECT_EQ(groups[1], (std::vector<size_t>{3, 4}));
  EXPECT_EQ(groups[2], (std::vector<size_t>{5}));
  EXPECT_EQ(groups[3], (std::vector<size_t>{2}));
}

}  // namespace
}  // namespace fleetmark::collector
