#include "agent/upload/inbox.h"

#include <algorithm>
#include <utility>

namespace fleetmark::agent {

UploadStream::Events Inbox::Events() {
  UploadStream::Events events;
  events.on_writable = [this] {
    MutexLock lock(mu_);
    content_.writable = woken_ = true;
    changed_.NotifyAll();
  };
  events.on_message = [this](v1::CollectorMessage message) { OnMessage(std::move(message)); };
  events.on_closed = [this](absl::Status status) {
    MutexLock lock(mu_);
    if (!content_.closed.has_value()) content_.closed = std::move(status);
    woken_ = true;
    changed_.NotifyAll();
  };
  return events;
}

void Inbox::OnMessage(v1::CollectorMessage message) {
  MutexLock lock(mu_);
  woken_ = true;
  changed_.NotifyAll();
  if (message.has_ack() && message.ack().refused().empty()) {
    content_.acked = std::max(content_.acked, message.ack().sequence());
    return;
  }
  bytes_ += message.ByteSizeLong();
  if (content_.messages.size() < kMaxMessages && bytes_ <= kMaxBytes) {
    content_.messages.push_back(std::move(message));
  } else if (!content_.closed.has_value()) {
    content_.closed =
        absl::ResourceExhaustedError("the collector sends faster than its messages can be handled");
  }
}

void Inbox::Wake() {
  MutexLock lock(mu_);
  woken_ = true;
  changed_.NotifyAll();
}

Inbox::Content Inbox::Take(MonoTime deadline) {
  MutexLock lock(mu_);
  while (!woken_ && clock_.Mono() < deadline) clock_.WaitUntil(changed_, mu_, deadline);
  woken_ = false;
  bytes_ = 0;
  return std::exchange(content_, {});
}

void Inbox::Clear() {
  MutexLock lock(mu_);
  bytes_ = 0;
  content_ = {};
}

}  // namespace fleetmark::agent
