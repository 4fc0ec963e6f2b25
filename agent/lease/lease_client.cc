#include "agent/lease/lease_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/base/ulid.h"

namespace fleetmark::agent {
namespace {

constexpr char kRetryPayload[] = "fleetmark/lease_retry_seconds";
constexpr absl::Duration kLongestRetry = absl::Hours(24);

absl::Status Denied(const v1::Lease& lease) {
  absl::Status status =
      absl::ResourceExhaustedError(lease.reason().empty() ? "the collector gave no lease" : lease.reason());
  status.SetPayload(kRetryPayload, absl::Cord(absl::StrCat(lease.retry_seconds())));
  return status;
}

}  // namespace

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryPayload);
  double seconds = 0;
  if (!payload.has_value() || !absl::SimpleAtod(std::string(*payload), &seconds)) return std::nullopt;
  if (!(seconds > 0)) return absl::ZeroDuration();  // also for what is no number
  return std::min(absl::Seconds(seconds), kLongestRetry);
}

absl::StatusOr<LeaseGrant> LeaseClient::Ask(const std::string& benchmark, absl::Duration duration,
                                            absl::Duration timeout) {
  const MonoTime asked = clock_.Mono();
  const std::string request_id = NewUlid(clock_.Now());
  {
    MutexLock lock(mu_);
    if (stopped_) return absl::CancelledError("the agent is stopping");
    waiting_[request_id];  // before the answer can come
  }
  v1::AgentMessage message;
  message.mutable_lease_request()->set_request_id(request_id);
  message.mutable_lease_request()->set_benchmark(benchmark);
  message.mutable_lease_request()->set_duration_seconds(absl::ToDoubleSeconds(duration));
  if (!send_(std::move(message))) {
    MutexLock lock(mu_);
    waiting_.erase(request_id);
    return absl::UnavailableError("no lease: there is no connection to a collector");
  }
  absl::StatusOr<v1::Lease> lease = Await(request_id, asked + timeout);
  if (!lease.ok()) {
    Release(request_id);
    return lease.status();
  }
  if (!lease->granted()) return Denied(*lease);
  LeaseGrant grant;
  grant.request_id = request_id;
  grant.expires = asked + absl::Seconds(lease->expires_seconds());
  grant.start_by = grant.expires - duration - kEnding;
  if (grant.MayStart(clock_.Mono())) return grant;
  Release(request_id);
  return absl::DeadlineExceededError("the lease came too late to start by");
}

absl::StatusOr<v1::Lease> LeaseClient::Await(const std::string& request_id, MonoTime deadline) {
  MutexLock lock(mu_);
  for (;;) {
    const auto it = waiting_.find(request_id);
    absl::Status status = it->second.failed;
    std::optional<v1::Lease> lease = std::move(it->second.lease);
    if (!lease.has_value() && status.ok()) {
      if (clock_.Mono() < deadline) {
        clock_.WaitUntil(changed_, mu_, deadline);
        continue;
      }
      status = absl::DeadlineExceededError("the collector did not answer the request for a lease in time");
    }
    waiting_.erase(it);
    if (lease.has_value()) return *std::move(lease);
    return status;
  }
}

void LeaseClient::Release(const std::string& request_id) {
  v1::AgentMessage message;
  message.mutable_lease_release()->set_request_id(request_id);
  send_(std::move(message));
}

void LeaseClient::OnLease(const v1::Lease& lease) {
  MutexLock lock(mu_);
  const auto it = waiting_.find(lease.request_id());
  if (it == waiting_.end()) return;  // given up, and released by then
  it->second.lease = lease;
  changed_.NotifyAll();
}

void LeaseClient::Disconnected(const absl::Status& why) {
  MutexLock lock(mu_);
  FailAll(absl::UnavailableError(absl::StrCat("no lease: the connection was lost: ", Message(why))));
}

void LeaseClient::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
  FailAll(absl::CancelledError("the agent is stopping"));
}

void LeaseClient::FailAll(const absl::Status& status) {
  for (auto& [id, waiting] : waiting_) {
    if (!waiting.lease.has_value()) waiting.failed = status;
  }
  changed_.NotifyAll();
}

}  // namespace fleetmark::agent
