// A clock that stands still until a test moves it.
//
// Thread-safety: all methods, any thread. A thread that waits on it is woken by Advance when its deadline
// is reached, or by the condition variable's own notification.
#ifndef FLEETMARK_TESTS_FAKES_FAKE_CLOCK_H_
#define FLEETMARK_TESTS_FAKES_FAKE_CLOCK_H_

#include <cstdint>
#include <list>

#include "common/base/clock.h"

namespace fleetmark {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'790'000'000)) : now_(start) {}

  absl::Time Now() const override;
  MonoTime Mono() const override;
  bool WaitUntil(CondVar& cv, Mutex& mu, MonoTime deadline) override;

  // Moves both clocks and wakes the waiters whose deadline has come.
  void Advance(absl::Duration by);

  // Sets the wall clock alone, as an administrator or NTP would.
  void StepWallClock(absl::Duration by);

  // Returns when at least `count` threads wait on this clock. Really blocks; a test's own time limit
  // bounds it.
  void AwaitWaiters(size_t count);

  // The earliest deadline that somebody waits for; InfiniteFuture if nobody does.
  MonoTime NextDeadline();

 private:
  struct Waiter {
    uint64_t id;
    CondVar* cv;
    Mutex* mu;
    MonoTime deadline;
  };

  mutable Mutex mu_;
  CondVar changed_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  MonoTime mono_ ABSL_GUARDED_BY(mu_) = MonoTime::FromDurationSinceBoot(absl::Hours(1));
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark

#endif  // FLEETMARK_TESTS_FAKES_FAKE_CLOCK_H_
