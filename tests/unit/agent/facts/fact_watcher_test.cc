#include "agent/facts/fact_watcher.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gtest/gtest.h"

#include "common/base/file.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

v1::Fact Fact(const std::string& name, const std::string& value) {
  v1::Fact fact;
  fact.set_name(name);
  fact.set_value(value);
  return fact;
}

class FactWatcherTest : public testing::Test {
 protected:
  FactWatcherTest() {
    std::string pattern = testing::TempDir() + "fm_facts_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FactWatcherTest() override { std::filesystem::remove_all(folder_); }

  FactWatcher::Options Options() {
    FactWatcher::Options options;
    options.folder = folder_;
    options.node = "n1";
    options.interval = absl::Hours(1);
    options.collect = [this] {
      MutexLock lock(mu_);
      return now_;
    };
    options.on_change = [this](const std::vector<v1::Fact>&, const std::vector<v1::Event>& events) {
      MutexLock lock(mu_);
      ++told_;
      events_ = events;
      return safe_;
    };
    return options;
  }

  void Set(const std::string& driver) {
    MutexLock lock(mu_);
    now_ = {Fact("gpu.driver", driver)};
  }
  int told() {
    MutexLock lock(mu_);
    return told_;
  }
  std::vector<v1::Event> events() {
    MutexLock lock(mu_);
    return events_;
  }

  std::string folder_;
  FakeClock clock_;
  Mutex mu_;
  std::vector<v1::Fact> now_;
  std::vector<v1::Event> events_;
  int told_ = 0;
  bool safe_ = true;
};

TEST_F(FactWatcherTest, TheFirstStartTellsFactsWithoutEvents) {
  Set("570");
  FactWatcher watcher(Options(), clock_);
  watcher.Start();
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(watcher.facts().size(), 1u);
  EXPECT_FALSE(watcher.digest().empty());
}

TEST_F(FactWatcherTest, AChangeOverARestartIsAnEventWithOldAndNewValue) {
  Set("570");
  { FactWatcher(Options(), clock_).Start(); }
  Set("575");
  FactWatcher watcher(Options(), clock_);
  watcher.Start();
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].subject(), "gpu.driver");
  EXPECT_EQ(events()[0].old_value(), "570");
  EXPECT_EQ(events()[0].new_value(), "575");
  EXPECT_EQ(events()[0].node(), "n1");
}

TEST_F(FactWatcherTest, SameFactsAreNotToldAgain) {
  Set("570");
  { FactWatcher(Options(), clock_).Start(); }
  { FactWatcher(Options(), clock_).Start(); }
  EXPECT_EQ(told(), 1);
}

TEST_F(FactWatcherTest, LooksAgainEachInterval) {
  Set("570");
  FactWatcher watcher(Options(), clock_);
  watcher.Start();
  Set("575");
  clock_.AwaitWaiters(1);
  clock_.Advance(absl::Hours(1));
  clock_.AwaitWaiters(1);  // it waits again: the look is over
  EXPECT_EQ(told(), 2);
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(FactWatcherTest, LooksAgainSoonWhenAskedButNotTooOften) {
  Set("570");
  FactWatcher watcher(Options(), clock_);
  watcher.Start();
  Set("575");
  clock_.AwaitWaiters(1);
  watcher.RefreshSoon();
  watcher.RefreshSoon();
  while (clock_.NextDeadline() != clock_.Mono() + absl::Minutes(5)) std::this_thread::yield();
  EXPECT_EQ(told(), 1);
  clock_.Advance(absl::Minutes(5));
  while (clock_.NextDeadline() != clock_.Mono() + absl::Hours(1)) std::this_thread::yield();
  EXPECT_EQ(told(), 2);
}

TEST_F(FactWatcherTest, AFactThatFlapsIsTold) {
  Set("0");
  FactWatcher::Options options = Options();
  options.interval = absl::Minutes(5);
  FactWatcher watcher(options, clock_);
  watcher.Start();
  size_t events_told = 0;
  for (int i = 1; i <= 12; ++i) {
    Set(std::to_string(i));
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Minutes(5));
    while (clock_.NextDeadline() != clock_.Mono() + absl::Minutes(5)) std::this_thread::yield();
    events_told += events().size();
  }
  EXPECT_EQ(told(), 13);  // the facts, each time
  EXPECT_EQ(events_told, 4u);
  clock_.Advance(absl::Minutes(5));
  while (clock_.NextDeadline() != clock_.Mono() + absl::Minutes(5)) std::this_thread::yield();
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].old_value(), "4");
  EXPECT_EQ(events()[0].new_value(), "12");
  EXPECT_EQ(events()[0].message(), "gpu.driver changed 8 more times within an hour, from 4 to 12");
}

TEST(FactEventLimiterTest, AWholeLotOfChangesIsSummarised) {
  std::vector<v1::Event> events(250);
  for (size_t i = 0; i < events.size(); ++i) events[i].set_subject("fact" + std::to_string(i));
  const auto told = FactEventLimiter().Limit(events, MonoTime());
  ASSERT_EQ(told.size(), 100u);
  EXPECT_EQ(told[98].subject(), "fact98");
  EXPECT_EQ(told[99].subject(), "facts");
  EXPECT_EQ(told[99].message().substr(0, 43), "151 other facts changed: fact99, fact100, f");
}

TEST_F(FactWatcherTest, WhatCouldNotBeMadeSafeIsToldAgainAfterARestart) {
  Set("570");
  { FactWatcher(Options(), clock_).Start(); }
  Set("575");
  safe_ = false;
  { FactWatcher(Options(), clock_).Start(); }
  safe_ = true;
  { FactWatcher(Options(), clock_).Start(); }
  EXPECT_EQ(told(), 3);
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(FactWatcherTest, ADamagedFileIsReplaced) {
  Set("570");
  ASSERT_TRUE(ReplaceFile(folder_ + "/facts.pb", "\xff\xff not a message").ok());
  FactWatcher watcher(Options(), clock_);
  watcher.Start();
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace fleetmark::agent
