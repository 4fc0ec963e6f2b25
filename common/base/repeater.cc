#include "common/base/repeater.h"

#include <utility>

namespace fleetmark {

Repeater::Repeater(Clock& clock, absl::Duration first, std::function<absl::Duration()> work)
    : clock_(clock), work_(std::move(work)), thread_([this, first] { Run(first); }) {}

void Repeater::Run(absl::Duration pause) {
  while (true) {
    const MonoTime next = clock_.Mono() + pause;
    {
      MutexLock lock(mu_);
      while (!stopping_ && clock_.Mono() < next) clock_.WaitUntil(changed_, mu_, next);
      if (stopping_) return;
    }
    pause = work_();
  }
}

void Repeater::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

}  // namespace fleetmark
