#include "collector/query/progress_buffer.h"

#include <utility>

namespace fleetmark::collector {

bool IsLast(const v1::RunProgress& progress) {
  return progress.state() == v1::RunProgress::STATE_FINISHED ||
         progress.state() == v1::RunProgress::STATE_REFUSED;
}

void ProgressBuffer::Push(v1::RunProgress progress) {
  MutexLock lock(mu_);
  if (closed_) return;
  if (messages_.size() >= capacity_) messages_.pop_front();
  messages_.push_back(std::move(progress));
  not_empty_.NotifyAll();
}

void ProgressBuffer::Close(const absl::Status& why) {
  MutexLock lock(mu_);
  if (closed_) return;
  closed_ = true;
  why_ = why;
  not_empty_.NotifyAll();
}

ProgressBuffer::Got ProgressBuffer::Next(Clock& clock, absl::Duration timeout, v1::RunProgress* out,
                                         absl::Status* why) {
  MutexLock lock(mu_);
  const MonoTime deadline = clock.Mono() + timeout;
  while (messages_.empty() && !closed_) {
    if (!clock.WaitUntil(not_empty_, mu_, deadline)) break;
  }
  if (!messages_.empty()) {
    *out = std::move(messages_.front());
    messages_.pop_front();
    return Got::kMessage;
  }
  if (!closed_) return Got::kTimeout;
  *why = why_;
  return Got::kClosed;
}

}  // namespace fleetmark::collector
