// One kind of action on a node in Kubernetes: cordon, taint, a condition of the node, or an event about it.
//
// A cordon is known again by the annotation fleetmark.io/cordon, a taint fleetmark.io/slow by its value: both
// hold the action's id. A condition (type FleetmarkSlow) is known by its message, which is the action's
// reason. An event is made once and is not taken back.
//
// Thread-safety, blocking, ownership: as ActionExecutor and KubeClient; the clock must outlive it.
#ifndef FLEETMARK_COLLECTOR_ACTION_KUBE_EXECUTOR_H_
#define FLEETMARK_COLLECTOR_ACTION_KUBE_EXECUTOR_H_

#include <string>

#include "absl/status/status.h"

#include "collector/action/action_executor.h"
#include "collector/action/kube_client.h"
#include "common/base/clock.h"

namespace fleetmark::collector {

class KubeExecutor final : public ActionExecutor {
 public:
  // `name_label`: the label of a node that gives its name in Kubernetes, where it has it; empty: the node's
  // name.
  KubeExecutor(KubeClient& kube, v1::ActionKind kind, std::string name_label, Clock& clock)
      : kube_(kube), kind_(kind), name_label_(std::move(name_label)), clock_(clock) {}

  std::string TargetOf(const ActionNode& node) const override { return NameThere(node, name_label_); }
  absl::StatusOr<NodesAway> Away() override;
  ActionResult Do(const v1::Action& action) override;
  ActionResult Check(const v1::Action& action) override;
  ActionResult Undo(const v1::Action& action) override;

 private:
  absl::Status Set(const kube::Node& node, const v1::Action& action);
  absl::Status Clear(const kube::Node& node, const v1::Action& action);

  KubeClient& kube_;
  const v1::ActionKind kind_;
  const std::string name_label_;
  Clock& clock_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_KUBE_EXECUTOR_H_
