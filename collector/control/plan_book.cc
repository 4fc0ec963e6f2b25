#include "collector/control/plan_book.h"

#include <set>
#include <utility>

#include "absl/strings/str_join.h"

#include "common/base/digest.h"
#include "common/obs/log.h"

namespace fleetmark::collector {
namespace {

v1::CollectorMessage ToMessage(v1::Plan plan) {
  v1::CollectorMessage message;
  *message.mutable_plan() = std::move(plan);
  return message;
}

}  // namespace

v1::Plan PlanBook::Make(const std::string& node, const Labels& labels) const {
  v1::Plan plan;
  std::set<std::string> names;
  for (const Suite& suite : suites_) {
    if (!suite.Selects(node, labels)) continue;
    for (const BenchmarkConfig& b : suite.benchmarks) {
      if (names.insert(b.benchmark.name()).second) *plan.add_benchmarks() = b.benchmark;
    }
  }
  // The message has no maps, so that equal plans are equal bytes.
  plan.set_version(ShortDigest(plan.SerializeAsString()));
  return plan;
}

void PlanBook::Connected(uint64_t session_id, const std::string& node, const Labels& labels,
                         const std::string& known_version, Send send) {
  v1::Plan plan;
  const auto shared = std::make_shared<const Send>(std::move(send));
  {
    MutexLock lock(mu_);
    Session session{node, labels, known_version, shared, {}};
    session.status.set_plan_version(known_version);
    session.status.set_accepted(true);
    const bool sends = !suites_.empty();
    if (sends) {
      plan = Make(node, labels);
      session.version = plan.version();
    }
    sessions_[session_id] = std::move(session);
    by_node_[node] = session_id;
    if (!sends || plan.version() == known_version) return;
  }
  (*shared)(ToMessage(std::move(plan)));
}

void PlanBook::Disconnected(uint64_t session_id) {
  MutexLock lock(mu_);
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end()) return;
  const auto node = by_node_.find(it->second.node);
  if (node != by_node_.end() && node->second == session_id) by_node_.erase(node);
  sessions_.erase(it);
}

void PlanBook::OnStatus(uint64_t session_id, const v1::PlanStatus& status) {
  std::string node;
  {
    MutexLock lock(mu_);
    const auto it = sessions_.find(session_id);
    if (it == sessions_.end()) return;
    node = it->second.node;
    it->second.status = status;
  }
  if (status.accepted()) return;
  LogWarn("plan refused by its node", {{"node", node},
                                       {"plan", status.plan_version()},
                                       {"problems", absl::StrJoin(status.problems(), "; ")}});
}

void PlanBook::Replace(std::vector<Suite> suites) {
  std::vector<std::pair<std::shared_ptr<const Send>, v1::CollectorMessage>> messages;
  {
    MutexLock lock(mu_);
    if (suites_.empty() && suites.empty()) return;  // what the nodes have is another collector's
    suites_ = std::move(suites);
    for (auto& [id, session] : sessions_) {
      v1::Plan plan = Make(session.node, session.labels);
      if (plan.version() == session.version) continue;
      session.version = plan.version();
      messages.emplace_back(session.send, ToMessage(std::move(plan)));
    }
  }
  for (const auto& [send, message] : messages) (*send)(message);
  LogInfo("suites reloaded", {{"plans_sent", messages.size()}});
}

void PlanBook::FillLive(v1::Node* node) const {
  MutexLock lock(mu_);
  const auto it = by_node_.find(node->identity().name());
  if (it == by_node_.end()) return;
  const v1::PlanStatus& status = sessions_.at(it->second).status;
  if (!status.plan_version().empty()) *node->mutable_plan() = status;
}

}  // namespace fleetmark::collector
