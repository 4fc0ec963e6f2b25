#include "collector/action/slurm_executor.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

// The clock of the node's daemon is that of its host: it may be off by a little.
constexpr absl::Duration kBootTolerance = absl::Seconds(2);

ActionResult Failed(const absl::Status& status) {
  const bool for_good = absl::IsNotFound(status) || absl::IsPermissionDenied(status);
  return {for_good ? ActionResult::kRefused : ActionResult::kAgain,
          absl::StrCat("Slurm: ", status.message()),
          {}};
}

ActionResult Left(const std::string& text) { return {ActionResult::kLeft, text, {}}; }

// Is the node held by this action, as it left it?
ActionResult Judge(const SlurmNode& node, const v1::Action& action) {
  if (!node.Drained()) return Left("somebody else resumed the node in Slurm");
  if (node.reason != action.reason())
    return Left(absl::StrCat("somebody else drained the node: ", node.Text()));
  const v1::ActionMark& mark = action.mark();
  if (!mark.stamp().empty() && node.stamp != mark.stamp()) {
    return Left(absl::StrCat("the node was drained anew: ", node.Text()));
  }
  if (node.boot_time > node.reason_time + kBootTolerance) {
    return Left(absl::StrCat("the node was rebooted at ",
                             absl::FormatTime(node.boot_time, absl::UTCTimeZone()),
                             ", after it was drained"));
  }
  for (const std::string& state : node.states) {
    if (state.starts_with("REBOOT") || state.starts_with("POWER")) {
      return Left(absl::StrCat("somebody else reboots the node or powers it down: ", node.Text()));
    }
  }
  ActionResult ours;
  ours.mark.set_stamp(node.stamp);
  ours.mark.set_held_unix_ns(absl::ToUnixNanos(node.reason_time));
  return ours;
}

}  // namespace

absl::StatusOr<NodesAway> SlurmExecutor::Away() {
  FM_ASSIGN_OR_RETURN(const std::vector<SlurmNode> nodes, slurm_.Nodes());
  NodesAway out;
  for (const SlurmNode& node : nodes) {
    if (!node.AtWork()) out[node.name] = {node.ByPerson(), node.Text()};
  }
  return out;
}

ActionResult SlurmExecutor::Do(const v1::Action& action) {
  absl::StatusOr<SlurmNode> node = slurm_.Node(action.target());
  if (!node.ok()) return Failed(node.status());
  if (node->Drained()) return Judge(*node, action);
  if (!node->AtWork()) {
    if (node->ByPerson()) return Left(node->Text());
    return {ActionResult::kAgain, node->Text(), {}};
  }
  if (const absl::Status drained = slurm_.Drain(action.target(), action.reason()); !drained.ok()) {
    return Failed(drained);
  }
  node = slurm_.Node(action.target());
  if (!node.ok()) return {ActionResult::kAgain, absl::StrCat("Slurm: ", node.status().message()), {}};
  ActionResult result = Judge(*node, action);
  if (result.kind == ActionResult::kDone) result.text = absl::StrCat("drained: ", action.reason());
  return result;
}

ActionResult SlurmExecutor::Check(const v1::Action& action) {
  const absl::StatusOr<SlurmNode> node = slurm_.Node(action.target());
  if (absl::IsNotFound(node.status())) return Left("Slurm knows the node no more");
  if (!node.ok()) return {ActionResult::kAgain, absl::StrCat("Slurm: ", node.status().message()), {}};
  return Judge(*node, action);
}

ActionResult SlurmExecutor::Undo(const v1::Action& action) {
  const absl::StatusOr<SlurmNode> node = slurm_.Node(action.target());
  if (absl::IsNotFound(node.status())) return Left("Slurm knows the node no more");
  if (!node.ok()) return Failed(node.status());
  // By an earlier try whose answer was lost, or because it was never drained.
  if (!node->Drained()) return {ActionResult::kDone, "the node is not drained", {}};
  ActionResult result = Judge(*node, action);
  if (result.kind != ActionResult::kDone) return result;
  if (const absl::Status resumed = slurm_.Resume(action.target()); !resumed.ok()) return Failed(resumed);
  const absl::StatusOr<SlurmNode> after = slurm_.Node(action.target());
  if (!after.ok()) return {ActionResult::kAgain, absl::StrCat("Slurm: ", after.status().message()), {}};
  if (!after->Drained()) return {ActionResult::kDone, "resumed", {}};
  return {ActionResult::kAgain, absl::StrCat("still drained after a resume: ", after->Text()), {}};
}

}  // namespace fleetmark::collector
