#include "common/base/bounded_queue.h"

#include <thread>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(BoundedQueue, RefusesWhenFullAndKeepsOrder) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(3));
  EXPECT_EQ(queue.PopBatch(10), (std::vector<int>{2, 3}));
}

TEST(BoundedQueue, ClosedQueueGivesWhatItHoldsThenEnds) {
  BoundedQueue<int> queue(4);
  queue.TryPush(7);
  queue.Close();
  EXPECT_FALSE(queue.TryPush(8));
  EXPECT_EQ(queue.Pop(), 7);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_TRUE(queue.PopBatch(3).empty());
}

TEST(BoundedQueue, CloseWakesAWaiter) {
  BoundedQueue<int> queue(1);
  std::thread waiter([&] { EXPECT_EQ(queue.Pop(), std::nullopt); });
  queue.Close();
  waiter.join();
}

TEST(BoundedQueue, EveryItemOfManyProducersComesOutOnce) {
  constexpr int kEach = 2000;
  BoundedQueue<int> queue(16);
  auto produce = [&queue](int base) {
    for (int i = 0; i < kEach; ++i) {
      while (!queue.TryPush(base + i)) std::this_thread::yield();
    }
  };
  std::thread a(produce, 0), b(produce, kEach);
  std::vector<bool> seen(2 * kEach, false);
  for (int n = 0; n < 2 * kEach;) {
    for (int value : queue.PopBatch(8)) {
      EXPECT_FALSE(seen[static_cast<size_t>(value)]);
      seen[static_cast<size_t>(value)] = true;
      ++n;
    }
  }
  a.join();
  b.join();
}

}  // namespace
}  // namespace fleetmark
