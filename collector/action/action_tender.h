// Looks after actions once they are decided: has them done, sees whether they are still as they were left,
// and takes them back when the node is well again. It decides nothing new (action_decider.h does).
//
// Thread-safety: one thread. Blocks for the executors and the disk. Ownership: options, and what they point
// to, must outlive it. Errors: the store's; the step is made again at the next look.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_TENDER_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_TENDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "collector/action/action_options.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {

class ActionTender {
 public:
  // `may_go_on`: asked before each step that changes something elsewhere.
  ActionTender(const ActionOptions& options, std::function<bool()> may_go_on);

  // All that are not over.
  absl::Status TendAll(const std::vector<AlertPtr>& alerts, absl::Time now);
  // What is in the record as begun.
  absl::Status Do(v1::Action action);
  // A person wants it taken back.
  absl::Status TakeBack(v1::Action action, const std::string& by);
  // A node was left to a person before anything was done.
  void CountLeft() { left_.Add(); }

 private:
  // Null where no rule of its kind is left.
  ActionExecutor* ExecutorOf(const v1::Action& action);
  absl::Status Tend(v1::Action action, const std::vector<AlertPtr>& alerts, absl::Time now);
  absl::Status TendHeld(v1::Action action, bool troubled, absl::Time now);
  absl::Status GoOn(v1::Action action, const std::vector<AlertPtr>& alerts, absl::Time now);
  absl::Status Check(v1::Action action, ActionExecutor& executor);
  absl::Status Undo(v1::Action action);
  absl::Status End(v1::Action action, v1::Action::State state, const std::string& text);
  absl::Status Again(v1::Action action, const std::string& text);

  const ActionOptions& options_;
  ActionBook& book_;
  Clock& clock_;
  const std::function<bool()> may_go_on_;
  Counter& done_;
  Counter& undone_;
  Counter& left_;
  std::map<std::string, DryRunExecutor> dry_;  // by rule
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_TENDER_H_
