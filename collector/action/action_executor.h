// How one kind of action is done and taken back: the seam between what decides (action_engine.h) and another
// system. Every method looks first and does nothing to what somebody else did; each may be repeated.
//
// Thread-safety: calls from one thread at a time. Blocks: each call for the executor's time limits at most.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_EXECUTOR_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_EXECUTOR_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

#include "collector/action/action_policy.h"
#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

struct ActionResult {
  enum Kind {
    kDone,     // it is as it was to become
    kLeft,     // somebody else has the node in hand: the action is over
    kAgain,    // not now, or it is not known; the same call may succeed later
    kRefused,  // the other system does not take it: nothing was done
  } kind = kDone;
  std::string text;     // for people; never a secret
  v1::ActionMark mark;  // of Do
};

// Nodes that do no work there, by their name there.
struct NodeAway {
  bool by_person = false;  // drained, cordoned, reserved for maintenance; else down
  std::string text;
};
using NodesAway = std::map<std::string, NodeAway>;

// The value of the node's label `name_label`, where it has it; else its name.
std::string NameThere(const ActionNode& node, const std::string& name_label);

class ActionExecutor {
 public:
  virtual ~ActionExecutor() = default;

  // The node's name there.
  virtual std::string TargetOf(const ActionNode& node) const = 0;

  // All that are away, also by actions of this collector. Empty for systems that know of no such thing.
  virtual absl::StatusOr<NodesAway> Away() = 0;

  virtual ActionResult Do(const v1::Action& action) = 0;
  // Is it still as Do left it? kDone, kLeft or kAgain.
  virtual ActionResult Check(const v1::Action& action) = 0;
  virtual ActionResult Undo(const v1::Action& action) = 0;
};

// Decides as the other would and touches nothing: everything it is asked for counts as done.
class DryRunExecutor final : public ActionExecutor {
 public:
  explicit DryRunExecutor(ActionExecutor& real) : real_(real) {}
  std::string TargetOf(const ActionNode& node) const override { return real_.TargetOf(node); }
  absl::StatusOr<NodesAway> Away() override { return real_.Away(); }
  ActionResult Do(const v1::Action&) override {
    return {ActionResult::kDone, "dry run: would have been done", {}};
  }
  ActionResult Check(const v1::Action&) override { return {}; }
  ActionResult Undo(const v1::Action&) override {
    return {ActionResult::kDone, "dry run: would have been taken back", {}};
  }

 private:
  ActionExecutor& real_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_EXECUTOR_H_
