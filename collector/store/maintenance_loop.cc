#include "collector/store/maintenance_loop.h"

namespace fleetmark::collector {

void MaintenanceLoop::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void MaintenanceLoop::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void MaintenanceLoop::Loop() {
  for (;;) {
    on_pass_(store_.Maintain(absl::ToUnixNanos(clock_.Now())));
    MutexLock lock(mu_);
    const MonoTime next = clock_.Mono() + interval_;
    while (!stopping_ && clock_.WaitUntil(wake_, mu_, next)) {
    }
    if (stopping_) return;
  }
}

}  // namespace fleetmark::collector
