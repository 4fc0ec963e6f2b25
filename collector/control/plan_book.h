// Which benchmarks each node is to run, from the suites that the collector holds, and what the agents made of
// it. A node's plan is the benchmarks of every suite that selects it; where two suites have a benchmark of
// one name, the earlier suite's counts. A plan's version is a digest of its content, so that an agent that
// holds it already, from before a restart or from another collector with the same suites, is not sent it
// again.
//
// Thread-safety: all methods, any thread; `send` is called with no lock held.
// Ownership: holds a session's `send` until Disconnected.
#ifndef FLEETMARK_COLLECTOR_CONTROL_PLAN_BOOK_H_
#define FLEETMARK_COLLECTOR_CONTROL_PLAN_BOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/daemon/suite_file.h"
#include "common/model/labels.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class PlanBook {
 public:
  // False when the message can't be taken now; the plan is sent at the next connection.
  using Send = std::function<bool(const v1::CollectorMessage&)>;

  explicit PlanBook(std::vector<Suite> suites) : suites_(std::move(suites)) {}

  // Without suites no plan is sent at all: agents keep what they have. With suites, a node that none selects
  // is sent an empty plan.
  void Connected(uint64_t session_id, const std::string& node, const Labels& labels,
                 const std::string& known_version, Send send);
  void Disconnected(uint64_t session_id);
  void OnStatus(uint64_t session_id, const v1::PlanStatus& status);

  // Sends new plans to the nodes whose plan changes.
  void Replace(std::vector<Suite> suites);

  // Sets `plan` of a connected node.
  void FillLive(v1::Node* node) const;

 private:
  struct Session {
    std::string node;
    Labels labels;
    std::string version;  // that the agent has, or was last sent
    std::shared_ptr<const Send> send;
    v1::PlanStatus status;
  };

  v1::Plan Make(const std::string& node, const Labels& labels) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::vector<Suite> suites_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Session> sessions_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, uint64_t> by_node_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_CONTROL_PLAN_BOOK_H_
