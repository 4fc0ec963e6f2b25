#include "tests/fakes/fake_clock.h"

#include <thread>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(FakeClock, AdvanceMovesBothClocksAStepOnlyOne) {
  FakeClock clock;
  const absl::Time wall = clock.Now();
  const MonoTime mono = clock.Mono();
  clock.Advance(absl::Seconds(5));
  clock.StepWallClock(-absl::Hours(1));
  EXPECT_EQ(clock.Now() - wall, absl::Seconds(5) - absl::Hours(1));
  EXPECT_EQ(clock.Mono() - mono, absl::Seconds(5));
}

TEST(FakeClock, DrivesALoopThroughADayInNoTime) {
  FakeClock clock;
  Mutex mu;
  CondVar cv;
  int ticks = 0;
  std::thread loop([&] {
    MutexLock lock(mu);
    while (ticks < 1440) {
      const MonoTime due = clock.Mono() + absl::Minutes(1);
      while (clock.WaitUntil(cv, mu, due)) {
      }
      ++ticks;
    }
  });
  for (int i = 0; i < 1440; ++i) {
    clock.AwaitWaiters(1);
    clock.Advance(absl::Minutes(1));
  }
  loop.join();
  EXPECT_EQ(ticks, 1440);
}

TEST(FakeClock, ANotificationWakesBeforeTheDeadline) {
  FakeClock clock;
  Mutex mu;
  CondVar cv;
  bool flag = false;
  std::thread waiter([&] {
    MutexLock lock(mu);
    while (!flag) EXPECT_TRUE(clock.WaitUntil(cv, mu, clock.Mono() + absl::Hours(1)));
  });
  clock.AwaitWaiters(1);
  {
    MutexLock lock(mu);
    flag = true;
    cv.NotifyAll();
  }
  waiter.join();
}

}  // namespace
}  // namespace fleetmark
