// A system whose nodes can be held, in memory: it does what a test tells it, and knows who did what.
//
// Thread-safety: none.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_ACTION_FAKE_EXECUTOR_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_ACTION_FAKE_EXECUTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "collector/action/action_executor.h"

namespace fleetmark::collector {

class FakeExecutor final : public ActionExecutor {
 public:
  std::string TargetOf(const ActionNode& node) const override { return absl::StrCat(node.name, ".there"); }

  absl::StatusOr<NodesAway> Away() override {
    if (!away_status.ok()) return away_status;
    NodesAway out;
    for (const auto& [node, holder] : held) out[node] = {holder != "down", absl::StrCat("held by ", holder)};
    return out;
  }

  ActionResult Do(const v1::Action& action) override {
    ++calls;
    if (next.kind != ActionResult::kDone) {
      if (does_all_the_same) held[action.target()] = action.reason();
      return next;
    }
    const auto it = held.find(action.target());
    if (it != held.end() && it->second != action.reason()) {
      return {ActionResult::kLeft, absl::StrCat("held by ", it->second), {}};
    }
    held[action.target()] = action.reason();
    done.push_back(action.node());
    return {};
  }

  ActionResult Check(const v1::Action& action) override {
    const auto it = held.find(action.target());
    if (it == held.end()) return {ActionResult::kLeft, "somebody let it go", {}};
    if (it->second != action.reason()) return {ActionResult::kLeft, absl::StrCat("held by ", it->second), {}};
    return {};
  }

  ActionResult Undo(const v1::Action& action) override {
    ++calls;
    if (next.kind != ActionResult::kDone) return next;
    const auto it = held.find(action.target());
    if (it == held.end()) return {ActionResult::kDone, "it is free", {}};
    if (it->second != action.reason()) return {ActionResult::kLeft, absl::StrCat("held by ", it->second), {}};
    held.erase(it);
    undone.push_back(action.node());
    return {};
  }

  std::map<std::string, std::string> held;  // by target: the reason, or who else holds it
  ActionResult next;                        // of Do and Undo; kDone: they work
  bool does_all_the_same = false;           // Do works, though its answer says otherwise
  absl::Status away_status;
  int calls = 0;
  std::vector<std::string> done, undone;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_ACTION_FAKE_EXECUTOR_H_
