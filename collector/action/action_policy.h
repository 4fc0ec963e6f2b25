// Whether something may be done to a node: the caps, the evidence, and what an alert must be like. It reads
// no clock, no store and no other system, so that every decision can be replayed.
//
// Rules that hold whatever comes, and in whatever order:
//   - In any `period` at most `max_nodes` nodes, and at most `max_share` of a class, are acted upon. A node
//     counts once, whatever is done to it, from the decision on until `period` has passed, and for as long as
//     it is held.
//   - Nothing is done to a node while, without it, fewer than `min_healthy` of its class or fewer than
//     `min_healthy_nodes` nodes of it are healthy.
//   - Times that lie ahead, as after a step of the clock, count as now.
//
// Thread-safety: functions without state; an ActionBudget belongs to one thread.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_POLICY_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "fleetmark/v1/action.pb.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

struct ActionLimits {
  absl::Duration period = absl::Hours(24);
  uint32_t max_nodes = 1;
  double max_share = 0.05;   // of the nodes of a class; rounded down
  double min_healthy = 0.8;  // of the nodes of a class; rounded up
  uint32_t min_healthy_nodes = 1;
};

struct ActionNode {
  std::string name;
  std::string node_class;
  std::map<std::string, std::string> labels;
  // Its results come, no alert is about it, and it does its work.
  bool healthy = false;
};

// What is left of the limits now.
class ActionBudget {
 public:
  // `past`: all actions that are held or began within the period; others do no harm. `unlisted`: unhealthy
  // nodes that are known by number alone; they may be of any class.
  ActionBudget(const ActionLimits& limits, absl::Span<const ActionNode> nodes,
               absl::Span<const v1::Action> past, size_t unlisted, absl::Time now);

  // OK when the node may be acted upon; else ResourceExhausted, which names the limit and its figures, or
  // NotFound for a node that is not of the fleet.
  absl::Status Check(const std::string& node) const;
  // It is acted upon: it counts from now on.
  void Take(const std::string& node);

 private:
  struct Class {
    std::set<std::string> healthy;
    size_t nodes = 0;
    std::set<std::string> acted;
  };

  const ActionLimits limits_;
  const size_t unlisted_;
  std::map<std::string, std::string> class_of_;
  std::map<std::string, Class> classes_;
  std::set<std::string> acted_;
};

// Does an action still count: is it held, or did it begin within `period`? What was refused, or left to a
// person before anything was done, never counts.
bool ActionCounts(const v1::Action& action, absl::Duration period, absl::Time now);

// Is it not over yet?
inline bool IsActive(const v1::Action& action) {
  return action.state() == v1::Action::STATE_BEGUN || action.state() == v1::Action::STATE_HELD ||
         action.state() == v1::Action::STATE_ENDING;
}

struct EvidenceNeeded {
  uint32_t benchmarks = 2;      // different ones that show it
  bool confirmed_alone = true;  // one finding is enough if runs that were asked for confirmed it
};

struct Evidence {
  bool enough = false;
  std::string text;  // for people: what there is, or what is missing
  std::vector<std::string> finding_ids;
};

// What the findings show about this node. Only open ones for the worse count, that are within the budget of
// false alarms and about this node alone; what is missing or silent is no evidence.
Evidence WeighEvidence(const std::string& node, absl::Span<const v1::Finding> findings,
                       const EvidenceNeeded& needed);

// The node that the alert is about, if it is about one alone and of a kind that can be acted upon (slow or
// failing); else empty.
std::string NodeToActUpon(const v1::Alert& alert);

// Why nothing is done because of the alert as it is now; empty if something may be.
std::string WhyAlertWaits(const v1::Alert& alert, absl::Duration settle, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_POLICY_H_
