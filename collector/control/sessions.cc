#include "collector/control/sessions.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr double kDefaultExpiresSeconds = 60;

absl::Status NotConnected(const std::string& node) {
  return absl::UnavailableError(absl::StrCat("node '", node, "' is not connected"));
}

bool IsLast(const v1::RunProgress& progress) {
  return progress.state() == v1::RunProgress::STATE_FINISHED ||
         progress.state() == v1::RunProgress::STATE_REFUSED;
}

}  // namespace

uint64_t Sessions::Connect(const std::string& node, Link link) {
  std::shared_ptr<const Link> older;
  uint64_t id = 0;
  {
    MutexLock lock(mu_);
    id = ++last_id_;
    if (const auto it = by_node_.find(node); it != by_node_.end()) older = sessions_[it->second].link;
    by_node_[node] = id;
    sessions_[id] = {node, std::make_shared<const Link>(std::move(link)), {}, clock_.Now()};
  }
  if (older != nullptr) {
    older->close(absl::AlreadyExistsError(absl::StrCat("another agent speaks for node '", node, "' now")));
  }
  return id;
}

bool Sessions::Disconnect(uint64_t session_id) {
  std::vector<std::shared_ptr<const Follower>> ended;
  std::string node;
  bool node_gone = false;
  {
    MutexLock lock(mu_);
    const auto session = sessions_.find(session_id);
    if (session == sessions_.end()) return false;
    node = session->second.node;
    sessions_.erase(session);
    if (const auto it = by_node_.find(node); it != by_node_.end() && it->second == session_id) {
      by_node_.erase(it);
      node_gone = true;
    }
    for (auto it = followed_.begin(); it != followed_.end();) {
      const auto at = it++;
      if (at->second.session_id != session_id) continue;
      ended.push_back(std::move(at->second.follower));
      followed_.erase(at);
    }
  }
  for (const auto& follower : ended) {
    follower->on_end(absl::UnavailableError(
        absl::StrCat("the connection to node '", node, "' was lost; the run may go on")));
  }
  return node_gone;
}

void Sessions::OnHeartbeat(uint64_t session_id, const v1::Heartbeat& heartbeat) {
  MutexLock lock(mu_);
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end()) return;
  it->second.heartbeat = heartbeat;
  it->second.heartbeat.clear_benchmarks();  // these are kept with the node
  it->second.heartbeat.clear_plugins();
  it->second.last_seen = clock_.Now();
}

void Sessions::OnProgress(uint64_t session_id, const v1::RunProgress& progress) {
  std::shared_ptr<const Follower> follower;
  {
    MutexLock lock(mu_);
    const auto it = followed_.find(progress.request_id());
    if (it == followed_.end() || it->second.session_id != session_id) return;
    follower = it->second.follower;
    if (IsLast(progress)) followed_.erase(it);
  }
  follower->on_progress(progress);
  if (IsLast(progress)) follower->on_end(absl::OkStatus());
}

std::shared_ptr<const Sessions::Link> Sessions::LinkOf(const std::string& node) const {
  MutexLock lock(mu_);
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return nullptr;
  return sessions_.at(it->second).link;
}

absl::StatusOr<std::string> Sessions::RunNow(const v1::RunNowRequest& request, v1::Trigger trigger,
                                             Follower follower) {
  const std::string request_id = NewUlid(clock_.Now());
  std::shared_ptr<const Link> link;
  {
    MutexLock lock(mu_);
    const auto it = by_node_.find(request.node());
    if (it == by_node_.end()) return NotConnected(request.node());
    if (followed_.size() >= options_.max_followed_runs) {
      return absl::ResourceExhaustedError(
          absl::StrCat("at most ", options_.max_followed_runs, " runs are followed at a time"));
    }
    link = sessions_[it->second].link;
    followed_[request_id] = {it->second, std::make_shared<const Follower>(std::move(follower))};
  }
  v1::CollectorMessage message;
  v1::RunNow& run = *message.mutable_run_now();
  run.set_request_id(request_id);
  run.set_benchmark(request.benchmark());
  run.set_trigger(trigger);
  run.set_asked_by(request.asked_by());
  run.set_expires_seconds(request.expires_seconds() > 0 ? request.expires_seconds() : kDefaultExpiresSeconds);
  run.set_sent_unix_ns(absl::ToUnixNanos(clock_.Now()));
  if (link->send(message)) return request_id;
  MutexLock lock(mu_);
  // Gone already if the session has ended meanwhile: then the follower was told.
  if (followed_.erase(request_id) == 0) return request_id;
  return absl::UnavailableError(absl::StrCat("node '", request.node(), "' does not take messages now"));
}

void Sessions::Unfollow(const std::string& request_id) {
  MutexLock lock(mu_);
  followed_.erase(request_id);
}

absl::Status Sessions::CancelRun(const v1::CancelRunRequest& request) {
  if (request.request_id().empty() == request.run_id().empty()) {
    return absl::InvalidArgumentError("exactly one of request_id and run_id must be set");
  }
  const std::shared_ptr<const Link> link = LinkOf(request.node());
  if (link == nullptr) return NotConnected(request.node());
  v1::CollectorMessage message;
  message.mutable_cancel()->set_request_id(request.request_id());
  message.mutable_cancel()->set_run_id(request.run_id());
  message.mutable_cancel()->set_reason(request.reason());
  if (link->send(message)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("node '", request.node(), "' does not take messages now"));
}

void Sessions::FillLive(v1::Node* node) const {
  MutexLock lock(mu_);
  const auto it = by_node_.find(node->identity().name());
  if (it == by_node_.end()) {
    node->set_state(v1::NODE_STATE_GONE);
    return;
  }
  const Session& session = sessions_.at(it->second);
  node->set_state(v1::NODE_STATE_CONNECTED);
  *node->mutable_heartbeat() = session.heartbeat;
  node->set_last_seen_unix_ns(absl::ToUnixNanos(session.last_seen));
}

size_t Sessions::connected() const {
  MutexLock lock(mu_);
  return by_node_.size();
}

}  // namespace fleetmark::collector
