// A thread that makes a pass now and then: one an interval after the end of the last, or sooner when asked.
//
// Thread-safety: Start and Stop from the owner's thread, the rest from any. `pass` runs in the thread, never
// twice at once. Ownership: owns its thread; Stop, or the destructor, ends it after the pass at hand. Whoever
// owns what `pass` uses declares this last.
#ifndef FLEETMARK_COMMON_BASE_PERIODIC_THREAD_H_
#define FLEETMARK_COMMON_BASE_PERIODIC_THREAD_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark {

class PeriodicThread {
 public:
  enum class First { kAtOnce, kAfterInterval };

  PeriodicThread(Clock& clock, absl::Duration interval, std::function<void()> pass);
  ~PeriodicThread() { Stop(); }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  void Start(First first = First::kAtOnce);
  // Idempotent.
  void Stop();

  // The next pass begins at once, or at the end of the one at hand.
  void Notify();

  // Stop has been called: a long pass ends early.
  bool stopping() const;

 private:
  void Loop(First first);
  // False when the thread is to end.
  bool Await();

  Clock& clock_;
  const absl::Duration interval_;
  const std::function<void()> pass_;
  mutable Mutex mu_;
  CondVar wake_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_PERIODIC_THREAD_H_
