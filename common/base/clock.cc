#include "common/base/clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"

namespace fleetmark {
namespace {

class SystemClock final : public Clock {
 public:
  // Not absl::Now(), which estimates by a cycle counter: it sees a step of the clock up to two seconds late.
  absl::Time Now() const override {
    timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return absl::TimeFromTimespec(ts);
  }

  MonoTime Mono() const override {
    timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return MonoTime::FromDurationSinceBoot(absl::DurationFromTimespec(ts));
  }

  bool WaitUntil(CondVar& cv, Mutex& mu, MonoTime deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    const absl::Duration left = deadline - Mono();
    if (left <= absl::ZeroDuration()) return false;
    // std::condition_variable waits on CLOCK_MONOTONIC, which stops while the machine sleeps; a cap lets
    // the caller look at CLOCK_BOOTTIME again soon after a resume.
    const absl::Duration wait = std::min(left, absl::Minutes(5));
    cv.WaitUntilSteady(mu, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait));
    return Mono() < deadline;
  }
};

}  // namespace

void WaitFor(Clock& clock, absl::Duration duration) {
  Mutex mu;
  CondVar never;
  const MonoTime end = clock.Mono() + duration;
  MutexLock lock(mu);
  while (clock.Mono() < end) clock.WaitUntil(never, mu, end);
}

Clock& RealClock() {
  static SystemClock clock;
  return clock;
}

}  // namespace fleetmark
