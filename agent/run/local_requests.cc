#include "agent/run/local_requests.h"

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {

absl::Status LocalRequests::Add(const std::string& request_id) {
  MutexLock lock(mu_);
  if (requests_.size() >= kMaxWaiting) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMaxWaiting, " requests wait already, the most allowed"));
  }
  requests_[request_id] = std::nullopt;
  return absl::OkStatus();
}

bool LocalRequests::OnProgress(const v1::RunProgress& progress) {
  MutexLock lock(mu_);
  const auto it = requests_.find(progress.request_id());
  if (it == requests_.end()) return false;
  if (progress.state() == v1::RunProgress::STATE_FINISHED ||
      progress.state() == v1::RunProgress::STATE_REFUSED) {
    it->second = progress;
    changed_.NotifyAll();
  }
  return true;
}

absl::StatusOr<v1::RunProgress> LocalRequests::Await(const std::string& request_id, MonoTime deadline) {
  MutexLock lock(mu_);
  while (true) {
    const auto it = requests_.find(request_id);
    if (it == requests_.end()) return absl::NotFoundError(absl::StrCat("no request ", request_id));
    absl::StatusOr<v1::RunProgress> answer = absl::DeadlineExceededError("the run has not ended in time");
    if (it->second.has_value()) answer = *it->second;
    if (stopping_ && !answer.ok()) answer = absl::CancelledError("the agent stops");
    if (answer.ok() || stopping_ || clock_.Mono() >= deadline) {
      requests_.erase(it);
      return answer;
    }
    clock_.WaitUntil(changed_, mu_, deadline);
  }
}

void LocalRequests::Stop() {
  MutexLock lock(mu_);
  stopping_ = true;
  changed_.NotifyAll();
}

}  // namespace fleetmark::agent
