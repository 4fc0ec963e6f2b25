#include "common/base/periodic_thread.h"

#include <atomic>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark {
namespace {

class PeriodicThreadTest : public testing::Test {
 protected:
  // That the thread waits again, so that its passes are over.
  int PassesMade() {
    clock_.AwaitWaiters(1);
    return passes_;
  }

  FakeClock clock_;
  std::atomic<int> passes_ = 0;
  PeriodicThread thread_{clock_, absl::Minutes(1), [this] { ++passes_; }};
};

TEST_F(PeriodicThreadTest, APassAtOnceAndAnotherAfterEachInterval) {
  thread_.Start();
  EXPECT_EQ(PassesMade(), 1);
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(PassesMade(), 1);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(PassesMade(), 2);
}

TEST_F(PeriodicThreadTest, TheFirstPassCanWait) {
  thread_.Start(PeriodicThread::First::kAfterInterval);
  EXPECT_EQ(PassesMade(), 0);
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(PassesMade(), 1);
}

TEST_F(PeriodicThreadTest, AsManyPassesAsAreAskedFor) {
  thread_.Start();
  PassesMade();
  for (int i = 2; i < 20; ++i) {
    thread_.Notify();
    while (passes_ < i) {
    }
    EXPECT_EQ(PassesMade(), i);
  }
}

TEST_F(PeriodicThreadTest, StopsWhileItWaits) {
  thread_.Start();
  PassesMade();
  EXPECT_FALSE(thread_.stopping());
  thread_.Stop();
  EXPECT_TRUE(thread_.stopping());
  thread_.Stop();
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(passes_, 1);
}

TEST(PeriodicThread, StopsAfterThePassAtHand) {
  FakeClock clock;
  std::atomic<int> begun = 0, ended = 0;
  PeriodicThread* self = nullptr;
  PeriodicThread thread(clock, absl::Minutes(1), [&] {
    ++begun;
    while (!self->stopping()) {
    }
    ++ended;
  });
  self = &thread;
  thread.Start();
  while (begun == 0) {
  }
  thread.Stop();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace fleetmark
