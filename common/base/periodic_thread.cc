#include "common/base/periodic_thread.h"

#include <utility>

namespace fleetmark {

PeriodicThread::PeriodicThread(Clock& clock, absl::Duration interval, std::function<void()> pass)
    : clock_(clock), interval_(interval), pass_(std::move(pass)) {}

void PeriodicThread::Start(First first) {
  thread_ = std::thread([this, first] { Loop(first); });
}

void PeriodicThread::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void PeriodicThread::Notify() {
  MutexLock lock(mu_);
  notified_ = true;
  wake_.NotifyAll();
}

bool PeriodicThread::stopping() const {
  MutexLock lock(mu_);
  return stopping_;
}

void PeriodicThread::Loop(First first) {
  if (first == First::kAfterInterval && !Await()) return;
  do pass_();
  while (Await());
}

bool PeriodicThread::Await() {
  MutexLock lock(mu_);
  const MonoTime deadline = clock_.Mono() + interval_;
  while (!notified_ && !stopping_ && clock_.WaitUntil(wake_, mu_, deadline)) {
  }
  notified_ = false;
  return !stopping_;
}

}  // namespace fleetmark
