#include "agent/run/run_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {

std::list<RunPool::Slot> RunPool::TakeDone() {
  std::list<Slot> done;
  for (auto it = slots_.begin(); it != slots_.end();) {
    const auto next = std::next(it);
    if (it->done) done.splice(done.end(), slots_, it);
    it = next;
  }
  return done;
}

absl::Status RunPool::Start(Running identity, Body body) {
  std::list<Slot> done;
  {
    MutexLock lock(mu_);
    if (stopping_) return absl::CancelledError("the agent stops");
    done = TakeDone();
    if (slots_.size() >= max_concurrent_) {
      return absl::ResourceExhaustedError(
          absl::StrCat(max_concurrent_, " runs are in progress, the most allowed"));
    }
    Slot& slot = slots_.emplace_back();
    slot.identity = std::move(identity);
    slot.thread = std::thread([this, &slot, body = std::move(body)]() mutable {
      body(slot.cancel);
      End(slot);
    });
  }
  for (Slot& slot : done) slot.thread.join();
  return absl::OkStatus();
}

void RunPool::End(Slot& slot) {
  {
    MutexLock lock(mu_);
    slot.done = true;
    changed_.NotifyAll();
  }
  // The thread is joined before its slot goes, and so before the pool does.
  if (on_ended_) on_ended_();
}

bool RunPool::Cancel(const std::string& run_id, const std::string& request_id, const std::string& reason) {
  MutexLock lock(mu_);
  bool found = false;
  for (Slot& slot : slots_) {
    const bool by_run = !run_id.empty() && slot.identity.run_id == run_id;
    const bool by_request = !request_id.empty() && slot.identity.request_id == request_id;
    if (slot.done || (!by_run && !by_request)) continue;
    slot.cancel.Cancel(reason);
    found = true;
  }
  return found;
}

void RunPool::Stop(const std::string& reason) {
  std::list<Slot> done;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    for (Slot& slot : slots_) slot.cancel.Cancel(reason, CancelCause::kShutdown);
    while (true) {
      done.splice(done.end(), TakeDone());
      if (slots_.empty()) break;
      changed_.Wait(mu_);
    }
  }
  for (Slot& slot : done) slot.thread.join();
}

std::vector<RunPool::Running> RunPool::running() const {
  MutexLock lock(mu_);
  std::vector<Running> out;
  for (const Slot& slot : slots_) {
    if (!slot.done) out.push_back(slot.identity);
  }
  return out;
}

}  // namespace fleetmark::agent
