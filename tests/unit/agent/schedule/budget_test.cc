#include "agent/schedule/budget.h"

#include <stdlib.h>

#include <deque>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

constexpr double kShare = 0.005;  // 432 s a day: the bucket holds 43.2 s

class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() {
    char name[] = "/tmp/fleetmark_budget_XXXXXX";
    folder_ = mkdtemp(name);
    Open();
  }
  ~BudgetTest() override { RemoveTree(folder_).IgnoreError(); }

  void Open(double share = kShare) {
    budget_ = std::make_unique<Budget>(Budget::Options{share, folder_ + "/budget.pb"}, clock_);
  }
  void Run(const std::string& benchmark, absl::Duration took) {
    const absl::Duration reserved = budget_->Begin(benchmark);
    budget_->Keep();
    clock_.Advance(took);
    budget_->End(benchmark, reserved, took);
  }

  FakeClock clock_;
  std::string folder_;
  std::unique_ptr<Budget> budget_;
};

TEST_F(BudgetTest, BeginsFullAndFillsAgain) {
  EXPECT_EQ(budget_->WaitFor("a"), absl::ZeroDuration());
  EXPECT_EQ(budget_->used(), 0);
  Run("a", absl::Seconds(40));
  EXPECT_NEAR(budget_->used(), 40 / 43.2, 0.01);
  EXPECT_EQ(budget_->spent(), absl::Seconds(40));
  const absl::Duration wait = budget_->WaitFor("a");
  // 36.8 s are missing, at 4.5 ms a second.
  EXPECT_NEAR(absl::ToDoubleSeconds(wait), (40 - (43.2 - 40)) / 0.0045, 100);
  clock_.Advance(wait);
  EXPECT_EQ(budget_->WaitFor("a"), absl::ZeroDuration());
}

TEST_F(BudgetTest, ARunLongerThanTheBucketStartsWhenItIsFullAndIsPaidOff) {
  Run("hpl", absl::Minutes(10));
  EXPECT_EQ(budget_->Expected("hpl"), absl::Minutes(10));
  const absl::Duration wait = budget_->WaitFor("hpl");
  EXPECT_NEAR(absl::ToDoubleHours(wait), 600 / 0.0045 / 3600, 0.5);
  clock_.Advance(wait);
  EXPECT_EQ(budget_->WaitFor("hpl"), absl::ZeroDuration());
}

TEST_F(BudgetTest, ARunThatNeverStartedCostsNothing) {
  const absl::Duration reserved = budget_->Begin("a");
  budget_->End("a", reserved, absl::ZeroDuration());
  EXPECT_EQ(budget_->used(), 0);
  EXPECT_EQ(budget_->Expected("a"), absl::Seconds(10)) << "and teaches nothing";
}

TEST_F(BudgetTest, SurvivesARestart) {
  Run("a", absl::Seconds(30));
  const double used = budget_->used();
  Open();
  EXPECT_NEAR(budget_->used(), used, 1e-6);
  EXPECT_EQ(budget_->Expected("a"), absl::Seconds(30));
}

TEST_F(BudgetTest, ARunDuringWhichTheAgentIsKilledHasCostWhatWasExpected) {
  Run("a", absl::Seconds(20));
  const double used = budget_->used();
  budget_->Begin("a");
  budget_->Keep();
  Open();
  EXPECT_NEAR(budget_->used(), used + 20 / 43.2, 0.01);
}

TEST_F(BudgetTest, TimeWhileTheAgentIsDownCountsAtMostADay) {
  Run("hpl", absl::Minutes(30));
  clock_.Advance(absl::Hours(24 * 30));
  Open();
  EXPECT_EQ(budget_->used(), 1) << "30 minutes are not paid off in a day";
}

TEST_F(BudgetTest, AWallClockThatIsSetChangesNothing) {
  Run("a", absl::Seconds(30));
  const double used = budget_->used();
  clock_.StepWallClock(absl::Hours(24));
  EXPECT_NEAR(budget_->used(), used, 1e-6);
  clock_.StepWallClock(-absl::Hours(48));
  EXPECT_NEAR(budget_->used(), used, 1e-6);
  Open();
  EXPECT_NEAR(budget_->used(), used, 1e-6);
}

TEST_F(BudgetTest, ADamagedLedgerBeginsAnew) {
  std::ofstream(folder_ + "/budget.pb") << "\xff\xff no ledger";
  Open();
  EXPECT_EQ(budget_->used(), 0);
}

TEST_F(BudgetTest, NoBudget) {
  Open(1);
  for (int i = 0; i < 100; ++i) Run("a", absl::Hours(1));
  EXPECT_EQ(budget_->WaitFor("a"), absl::ZeroDuration());
}

// Whatever is asked of it: in no day more than the allowance, and a busy node uses most of it.
TEST_F(BudgetTest, NoDayExceedsTheAllowance) {
  budget_ = std::make_unique<Budget>(Budget::Options{kShare, ""}, clock_);
  std::mt19937 random(7);
  std::deque<std::pair<MonoTime, absl::Duration>> last_day;
  absl::Duration spent;
  absl::Duration most;
  const MonoTime begin = clock_.Mono();
  const std::map<std::string, double> benchmarks = {{"a", 4}, {"b", 9}, {"c", 20}};
  while (clock_.Mono() - begin < absl::Hours(24 * 14)) {
    for (const auto& [name, seconds] : benchmarks) {
      if (budget_->WaitFor(name) > absl::ZeroDuration()) break;
      const absl::Duration took = absl::Seconds(seconds * (0.95 + 0.05 * static_cast<double>(random() % 2)));
      Run(name, took);
      last_day.emplace_back(clock_.Mono(), took);
      spent += took;
    }
    while (!last_day.empty() && clock_.Mono() - last_day.front().first > absl::Hours(24)) {
      spent -= last_day.front().second;
      last_day.pop_front();
    }
    most = std::max(most, spent);
    clock_.Advance(absl::Minutes(1));
  }
  // The first runs of each go by the guess of ten seconds.
  EXPECT_LT(absl::ToDoubleSeconds(most), 432 + 20);
  EXPECT_GT(absl::ToDoubleSeconds(most), 0.8 * 432);
}

}  // namespace
}  // namespace fleetmark::agent
