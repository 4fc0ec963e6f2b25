// Calls a function again and again, in a thread of its own, with a pause in between.
//
// Thread-safety: the constructor and Stop belong to the owner; the function runs in the repeater's thread
// alone. Ownership: owns its thread; what the function uses must outlive Stop, which the destructor calls.
#ifndef FLEETMARK_COMMON_BASE_REPEATER_H_
#define FLEETMARK_COMMON_BASE_REPEATER_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark {

class Repeater {
 public:
  // `work` returns how long to pause; it is first called after `first`.
  Repeater(Clock& clock, absl::Duration first, std::function<absl::Duration()> work);
  ~Repeater() { Stop(); }
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  // Waits for the call under way. Idempotent.
  void Stop();

 private:
  void Run(absl::Duration pause);

  Clock& clock_;
  const std::function<absl::Duration()> work_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_REPEATER_H_
