#include "collector/fleet/failures.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

void Add(std::vector<RunResult>& runs, size_t count, v1::Outcome outcome, double seconds = 10) {
  for (size_t i = 0; i < count; ++i) {
    const auto n = static_cast<int64_t>(runs.size());
    runs.push_back({n * 1'000'000'000, outcome, seconds + 0.01 * static_cast<double>(n * 7 % 13),
                    outcome == v1::OUTCOME_OK ? "" : "no device"});
  }
}

TEST(JudgeOutcomes, WorkingRunsAreQuiet) {
  std::vector<RunResult> runs;
  Add(runs, 50, v1::OUTCOME_OK);
  EXPECT_FALSE(JudgeOutcomes(runs).has_value());
}

TEST(JudgeOutcomes, ABenchmarkThatBreaksShowsWithinThreeRuns) {
  std::vector<RunResult> runs;
  Add(runs, 60, v1::OUTCOME_OK);
  Add(runs, 3, v1::OUTCOME_FAILED);
  const auto verdict = JudgeOutcomes(runs);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_LT(verdict->p_value, 1e-3);
  EXPECT_EQ(verdict->text, "3 of the last 3 runs bad (3 failed; the last: no device), before 0 of 60");
  EXPECT_EQ(verdict->onset_unix_ns, int64_t{60} * 1'000'000'000);
  Add(runs, 7, v1::OUTCOME_TIMEOUT);
  EXPECT_LT(JudgeOutcomes(runs)->p_value, 1e-10);
}

TEST(JudgeOutcomes, OneThatAlwaysFailedNowAndThenIsNoNews) {
  std::vector<RunResult> runs;
  for (int i = 0; i < 14; ++i) {
    Add(runs, 4, v1::OUTCOME_OK);
    Add(runs, 1, v1::OUTCOME_INVALID);
  }
  const auto verdict = JudgeOutcomes(runs);
  EXPECT_TRUE(!verdict.has_value() || verdict->p_value > 0.2);
}

TEST(JudgeOutcomes, NeverWorkedIsAFact) {
  std::vector<RunResult> runs;
  Add(runs, 2, v1::OUTCOME_FAILED);
  EXPECT_FALSE(JudgeOutcomes(runs).has_value());
  Add(runs, 1, v1::OUTCOME_FAILED);
  Add(runs, 5, v1::OUTCOME_SKIPPED);
  const auto verdict = JudgeOutcomes(runs);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->never_worked);
  EXPECT_EQ(verdict->p_value, 0);
  EXPECT_EQ(verdict->text, "none of 3 runs has worked (3 failed; the last: no device)");
}

TEST(JudgeOutcomes, ThePValueHoldsWhenRunsFailByChance) {
  std::mt19937 random(5);
  std::bernoulli_distribution bad(0.1);
  int below = 0;
  constexpr int kSeries = 4000;
  for (int s = 0; s < kSeries; ++s) {
    std::vector<RunResult> runs;
    for (int i = 0; i < 70; ++i) Add(runs, 1, bad(random) ? v1::OUTCOME_FAILED : v1::OUTCOME_OK);
    const auto verdict = JudgeOutcomes(runs);
    if (verdict.has_value() && verdict->p_value <= 0.01) ++below;
  }
  EXPECT_LE(below, kSeries * 0.01 + 3 * 6.3);  // three standard deviations
}

TEST(JudgeDurations, RunsThatTakeLonger) {
  std::vector<RunResult> runs;
  Add(runs, 40, v1::OUTCOME_OK, 10);
  Add(runs, 10, v1::OUTCOME_OK, 14);
  const auto verdict = JudgeDurations(runs);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_FALSE(verdict->failing);
  EXPECT_LT(verdict->p_value, 1e-5);
  EXPECT_NEAR(verdict->after / verdict->before, 1.4, 0.02);
  EXPECT_EQ(verdict->onset_unix_ns, int64_t{40} * 1'000'000'000);
}

TEST(JudgeDurations, ATenthIsNoMatterAndFewRunsTellNothing) {
  std::vector<RunResult> runs;
  Add(runs, 40, v1::OUTCOME_OK, 10);
  Add(runs, 10, v1::OUTCOME_OK, 11);
  EXPECT_FALSE(JudgeDurations(runs).has_value());
  runs.clear();
  Add(runs, 5, v1::OUTCOME_OK, 10);
  Add(runs, 10, v1::OUTCOME_OK, 20);
  EXPECT_FALSE(JudgeDurations(runs).has_value());
}

TEST(StillFailing, UntilTheNewestRunsAreNearerToBefore) {
  std::vector<RunResult> runs;
  Add(runs, 40, v1::OUTCOME_OK);
  Add(runs, 10, v1::OUTCOME_FAILED);
  EXPECT_TRUE(StillFailing(runs, true, 0, 1));
  Add(runs, 2, v1::OUTCOME_OK);
  EXPECT_TRUE(StillFailing(runs, true, 0, 1));
  Add(runs, 1, v1::OUTCOME_OK);
  EXPECT_FALSE(StillFailing(runs, true, 0, 1));
  runs.clear();
  Add(runs, 10, v1::OUTCOME_OK, 16);
  EXPECT_TRUE(StillFailing(runs, false, 10, 16));
  Add(runs, 3, v1::OUTCOME_OK, 10);
  EXPECT_FALSE(StillFailing(runs, false, 10, 16));
  EXPECT_TRUE(StillFailing({}, true, 0, 1));  // nothing new is no recovery
}

}  // namespace
}  // namespace fleetmark::collector
