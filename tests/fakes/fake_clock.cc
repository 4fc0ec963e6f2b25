#include "tests/fakes/fake_clock.h"

#include <vector>

namespace fleetmark {

absl::Time FakeClock::Now() const {
  MutexLock lock(mu_);
  return now_;
}

MonoTime FakeClock::Mono() const {
  MutexLock lock(mu_);
  return mono_;
}

// A waiter is taken off the list by Advance, not when it wakes: else a second Advance in between would
// notify it twice, and AwaitWaiters would count it while it is already running.
bool FakeClock::WaitUntil(CondVar& cv, Mutex& mu, MonoTime deadline) {
  uint64_t id = 0;
  {
    MutexLock lock(mu_);
    if (mono_ >= deadline) return false;
    id = next_id_++;
    waiters_.push_back({id, &cv, &mu, deadline});
    changed_.NotifyAll();
  }
  cv.Wait(mu);
  MutexLock lock(mu_);
  waiters_.remove_if([id](const Waiter& waiter) { return waiter.id == id; });
  return mono_ < deadline;
}

void FakeClock::Advance(absl::Duration by) {
  std::vector<Waiter> due;
  {
    MutexLock lock(mu_);
    now_ += by;
    mono_ = mono_ + by;
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      if (it->deadline <= mono_) {
        due.push_back(*it);
        it = waiters_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const Waiter& waiter : due) {
    MutexLock lock(*waiter.mu);
    waiter.cv->NotifyAll();
  }
}

void FakeClock::StepWallClock(absl::Duration by) {
  MutexLock lock(mu_);
  now_ += by;
}

void FakeClock::AwaitWaiters(size_t count) {
  MutexLock lock(mu_);
  while (waiters_.size() < count) changed_.Wait(mu_);
}

MonoTime FakeClock::NextDeadline() {
  MutexLock lock(mu_);
  MonoTime next = MonoTime::InfiniteFuture();
  for (const Waiter& waiter : waiters_) {
    if (waiter.deadline < next) next = waiter.deadline;
  }
  return next;
}

}  // namespace fleetmark
