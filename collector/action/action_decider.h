// Decides what is to be done because of alerts, within limits and on evidence, and enters it; what it does
// not do, it holds back with a reason.
//
// Thread-safety: one thread. Blocks for the executors and the disk. Ownership: options, what they point to,
// and the tender must outlive it. Errors: those of the store, of the list of nodes, and of another system
// that can't say which nodes are away; then nothing further is decided.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_DECIDER_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_DECIDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/action/action_options.h"
#include "collector/action/action_tender.h"

namespace fleetmark::collector {

class ActionDecider {
 public:
  static constexpr size_t kMaxHeldBack = 1000;

  ActionDecider(const ActionOptions& options, ActionTender& tender, std::function<bool()> may_go_on);

  absl::Status Decide(const std::vector<AlertPtr>& alerts, absl::Time now);
  // Of the last Decide; further ones than kMaxHeldBack are not told.
  const std::vector<v1::ActionHeldBack>& held_back() const { return held_back_; }
  void ClearHeldBack() { held_back_.clear(); }

 private:
  using AwayBySystem = std::map<ActionExecutor*, NodesAway>;
  // An alert and a rule that fits it.
  struct Candidate {
    const ActionRule* rule = nullptr;
    AlertPtr alert;
    std::string node;
    Evidence evidence;
  };

  std::vector<Candidate> Candidates(const std::vector<AlertPtr>& alerts, absl::Time now);
  std::string WhyNotAgain(const ActionRule& rule, const v1::Alert& alert, const std::string& node,
                          absl::Time now) const;
  std::vector<v1::Finding> FindingsOf(const v1::Alert& alert) const;
  absl::StatusOr<AwayBySystem> AskAway() const;
  ActionBudget BudgetOf(const std::vector<ActionNode>& nodes, const std::vector<AlertPtr>& alerts,
                        absl::Time now) const;
  // True when the candidate is done with: a person's hand on the node is entered, so that it stays so.
  absl::StatusOr<bool> LeaveToPerson(const Candidate& candidate, const ActionNode& node,
                                     const AwayBySystem& away);
  absl::Status Begin(const Candidate& candidate, const ActionNode& node);
  v1::Action NewAction(const Candidate& candidate, const ActionNode& node) const;
  void HoldBack(const Candidate& candidate, const std::string& why);

  const ActionOptions& options_;
  ActionBook& book_;
  Clock& clock_;
  ActionTender& tender_;
  const std::function<bool()> may_go_on_;
  std::vector<v1::ActionHeldBack> held_back_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_DECIDER_H_
