#include "agent/run/run_pool.h"

#include <atomic>

#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

// A body that lasts until it is cancelled, as a run of a process does.
RunPool::Body UntilCancelled(std::atomic<int>& ended) {
  return [&ended](CancelToken& cancel) {
    Mutex mu;
    CondVar cv;
    bool woken = false;
    CancelToken::Listener listener(cancel, [&] {
      MutexLock lock(mu);
      woken = true;
      cv.NotifyAll();
    });
    MutexLock lock(mu);
    while (!woken) cv.Wait(mu);
    ++ended;
  };
}

TEST(RunPool, CancelsByRunOrRequest) {
  RunPool pool(4);
  std::atomic<int> ended = 0;
  ASSERT_TRUE(pool.Start({"run1", "b", ""}, UntilCancelled(ended)).ok());
  ASSERT_TRUE(pool.Start({"run2", "b", "request2"}, UntilCancelled(ended)).ok());
  EXPECT_EQ(pool.running().size(), 2u);
  EXPECT_FALSE(pool.Cancel("", "", "x"));
  EXPECT_FALSE(pool.Cancel("run3", "request3", "x"));
  EXPECT_TRUE(pool.Cancel("run1", "", "x"));
  EXPECT_TRUE(pool.Cancel("", "request2", "x"));
  pool.Stop("end");
  EXPECT_EQ(ended, 2);
}

TEST(RunPool, IsBoundedAndTakesMoreWhenRunsEnd) {
  RunPool pool(1);
  std::atomic<int> ended = 0;
  ASSERT_TRUE(pool.Start({"run1", "b", ""}, UntilCancelled(ended)).ok());
  EXPECT_EQ(pool.Start({"run2", "b", ""}, [](CancelToken&) {}).code(), absl::StatusCode::kResourceExhausted);
  pool.Cancel("run1", "", "x");
  while (!pool.running().empty()) std::this_thread::yield();
  EXPECT_TRUE(pool.Start({"run2", "b", ""}, [](CancelToken&) {}).ok());
}

TEST(RunPool, TellsOfAnEndWhenTheRunIsNoLongerAmongThoseRunning) {
  std::atomic<int> told = 0;
  std::atomic<size_t> still_running = 0;
  RunPool* self = nullptr;
  RunPool pool(4, [&] {
    still_running += self->running().size();
    ++told;
  });
  self = &pool;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(pool.Start({"run", "b", ""}, [](CancelToken&) {}).ok());
    while (told < i) std::this_thread::yield();
  }
  pool.Stop("end");
  EXPECT_EQ(told, 3);
  EXPECT_EQ(still_running, 0u);
}

TEST(RunPool, StopCancelsAllAndRefusesMore) {
  RunPool pool(8);
  std::atomic<int> ended = 0;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(pool.Start({"run" + std::to_string(i), "b", ""}, UntilCancelled(ended)).ok());
  }
  pool.Stop("end");
  EXPECT_EQ(ended, 8);
  EXPECT_EQ(pool.Start({"late", "b", ""}, [](CancelToken&) {}).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace fleetmark::agent
