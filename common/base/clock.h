// The only source of time and of timed waits. Everything that needs the time is given a Clock, so that
// tests drive hours in milliseconds (tests/fakes/fake_clock.h).
//
// Thread-safety: all methods may be called from any thread.
#ifndef FLEETMARK_COMMON_BASE_CLOCK_H_
#define FLEETMARK_COMMON_BASE_CLOCK_H_

#include <compare>

#include "absl/time/time.h"

#include "common/base/mutex.h"

namespace fleetmark {

// A point on the machine's monotonic clock. It counts while the machine sleeps (CLOCK_BOOTTIME), never
// jumps, and means nothing on another machine or after a reboot.
class MonoTime {
 public:
  MonoTime() = default;
  static MonoTime FromDurationSinceBoot(absl::Duration d) { return MonoTime(d); }
  static MonoTime InfiniteFuture() { return MonoTime(absl::InfiniteDuration()); }
  absl::Duration since_boot() const { return since_boot_; }

  friend MonoTime operator+(MonoTime t, absl::Duration d) { return MonoTime(t.since_boot_ + d); }
  friend MonoTime operator-(MonoTime t, absl::Duration d) { return MonoTime(t.since_boot_ - d); }
  friend absl::Duration operator-(MonoTime a, MonoTime b) { return a.since_boot_ - b.since_boot_; }
  friend bool operator==(MonoTime a, MonoTime b) { return a.since_boot_ == b.since_boot_; }
  friend bool operator<(MonoTime a, MonoTime b) { return a.since_boot_ < b.since_boot_; }
  friend bool operator<=(MonoTime a, MonoTime b) { return a.since_boot_ <= b.since_boot_; }
  friend bool operator>(MonoTime a, MonoTime b) { return b < a; }
  friend bool operator>=(MonoTime a, MonoTime b) { return b <= a; }

 private:
  explicit MonoTime(absl::Duration d) : since_boot_(d) {}
  absl::Duration since_boot_;
};

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock; may jump. For stamps that leave the process and for cron.
  virtual absl::Time Now() const = 0;

  // For deadlines and durations.
  virtual MonoTime Mono() const = 0;

  // Waits on `cv` until notified or until `deadline`. False when the deadline has passed. Wakes may be
  // spurious: callers loop on their predicate.
  virtual bool WaitUntil(CondVar& cv, Mutex& mu, MonoTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
};

// Blocks for `duration` of `clock`.
void WaitFor(Clock& clock, absl::Duration duration);

// The machine's clock. Lives as long as the process.
Clock& RealClock();

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_CLOCK_H_
