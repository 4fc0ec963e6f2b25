// The thread that has the store maintain itself: at the start, and then at an interval.
//
// Thread-safety: Start and Stop from the owner's thread. `on_pass` is called in the loop's thread with what a
// pass did or why it failed; the next pass tries again. Ownership: owns its thread; Stop, or the destructor,
// ends it after the pass at hand.
#ifndef FLEETMARK_COLLECTOR_STORE_MAINTENANCE_LOOP_H_
#define FLEETMARK_COLLECTOR_STORE_MAINTENANCE_LOOP_H_

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class MaintenanceLoop {
 public:
  using OnPass = std::function<void(const absl::StatusOr<MaintenanceResult>&)>;

  MaintenanceLoop(Store& store, Clock& clock, absl::Duration interval, OnPass on_pass)
      : store_(store), clock_(clock), interval_(interval), on_pass_(std::move(on_pass)) {}
  ~MaintenanceLoop() { Stop(); }

  void Start();
  void Stop();

 private:
  void Loop();

  Store& store_;
  Clock& clock_;
  const absl::Duration interval_;
  const OnPass on_pass_;
  Mutex mu_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_MAINTENANCE_LOOP_H_
