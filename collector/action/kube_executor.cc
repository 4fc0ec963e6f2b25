#include "collector/action/kube_executor.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/base/quote_json.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kAnnotation[] = "fleetmark.io/cordon";
constexpr char kTaint[] = "fleetmark.io/slow";
constexpr char kCondition[] = "FleetmarkSlow";

ActionResult Failed(const absl::Status& status) {
  const bool for_good =
      absl::IsNotFound(status) || absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status);
  return {for_good ? ActionResult::kRefused : ActionResult::kAgain,
          absl::StrCat("Kubernetes: ", status.message()),
          {}};
}

ActionResult Left(const std::string& text) { return {ActionResult::kLeft, text, {}}; }

// What holds the node in the way of this kind of action: the id or reason of who did it; "?" for a person's
// cordon; empty if nothing does.
std::string Holder(const kube::Node& node, v1::ActionKind kind) {
  if (kind == v1::ACTION_KIND_KUBERNETES_CORDON) {
    if (!node.spec().unschedulable()) return "";
    const auto it = node.metadata().annotations().find(kAnnotation);
    return it == node.metadata().annotations().end() ? "?" : it->second;
  }
  for (const kube::Taint& taint : node.spec().taints()) {
    if (kind == v1::ACTION_KIND_KUBERNETES_TAINT && taint.key() == kTaint) return taint.value();
  }
  for (const kube::Condition& condition : node.status().conditions()) {
    if (kind == v1::ACTION_KIND_KUBERNETES_CONDITION && condition.type() == kCondition &&
        condition.status() == "True") {
      return condition.message();
    }
  }
  return "";
}

const std::string& HeldBy(const v1::Action& action) {
  return action.kind() == v1::ACTION_KIND_KUBERNETES_CONDITION ? action.reason() : action.action_id();
}

// Is the node held by this action, as it left it?
ActionResult Judge(const kube::Node& node, const v1::Action& action) {
  const v1::ActionMark& mark = action.mark();
  if (!mark.uid().empty() && node.metadata().uid() != mark.uid()) {
    return Left("somebody else removed the node from Kubernetes and added it again");
  }
  if (!mark.boot().empty() && node.status().node_info().boot_id() != mark.boot()) {
    return Left("the node was rebooted after the action");
  }
  const std::string holder = Holder(node, action.kind());
  if (holder.empty()) return Left("somebody else took it back in Kubernetes");
  if (holder != HeldBy(action)) return Left("somebody else holds the node in Kubernetes");
  ActionResult ours;
  ours.mark.set_uid(node.metadata().uid());
  ours.mark.set_boot(node.status().node_info().boot_id());
  return ours;
}

std::string Version(const kube::Node& node) {
  return absl::StrCat("\"resourceVersion\":", QuoteJson(node.metadata().resource_version()));
}

// The list of taints as a whole: a merge patch knows no other way. Without ours, and with it if `value` is
// given.
std::string TaintsPatch(const kube::Node& node, const std::string& value) {
  std::vector<std::string> taints;
  for (const kube::Taint& taint : node.spec().taints()) {
    if (taint.key() == kTaint) continue;
    taints.push_back(absl::StrCat(
        "{\"key\":", QuoteJson(taint.key()), ",\"value\":", QuoteJson(taint.value()),
        ",\"effect\":", QuoteJson(taint.effect()), taint.time_added().empty() ? "" : ",\"timeAdded\":",
        taint.time_added().empty() ? "" : QuoteJson(taint.time_added()), "}"));
  }
  if (!value.empty()) {
    taints.push_back(absl::StrCat("{\"key\":", QuoteJson(kTaint), ",\"value\":", QuoteJson(value),
                                  ",\"effect\":\"NoSchedule\"}"));
  }
  return absl::StrCat("{\"metadata\":{", Version(node), "},\"spec\":{\"taints\":[",
                      absl::StrJoin(taints, ","), "]}}");
}

std::string ConditionPatch(const kube::Node& node, bool slow, const std::string& reason, absl::Time now) {
  const std::string at = QuoteJson(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
  return absl::StrCat("{\"metadata\":{", Version(node),
                      "},\"status\":{\"conditions\":[{\"type\":", QuoteJson(kCondition), ",\"status\":\"",
                      slow ? "True" : "False", "\",\"reason\":\"",
                      slow ? "FleetmarkAlert" : "FleetmarkRecovered", "\",\"message\":", QuoteJson(reason),
                      ",\"lastHeartbeatTime\":", at, ",\"lastTransitionTime\":", at, "}]}}");
}

// Its name holds the action's id: made again it is a conflict, not a second one.
std::string Event(const v1::Action& action, absl::Time now) {
  const std::string at = QuoteJson(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
  const std::string name =
      QuoteJson(absl::StrCat(action.target(), ".", absl::AsciiStrToLower(action.action_id())));
  const std::string node = QuoteJson(action.target());
  return absl::StrCat(
      "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"default\",\"name\":", name,
      "},\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":", node, ",\"uid\":", node,
      "},\"type\":\"Warning\",\"reason\":\"FleetmarkAlert\",\"message\":", QuoteJson(action.reason()),
      ",\"source\":{\"component\":\"fleetmark-collector\"},\"count\":1,\"firstTimestamp\":", at,
      ",\"lastTimestamp\":", at, "}");
}

bool IsReady(const kube::Node& node) {
  for (const kube::Condition& condition : node.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

}  // namespace

absl::StatusOr<NodesAway> KubeExecutor::Away() {
  FM_ASSIGN_OR_RETURN(const std::vector<kube::Node> nodes, kube_.ListNodes());
  NodesAway out;
  for (const kube::Node& node : nodes) {
    const std::string& name = node.metadata().name();
    if (node.spec().unschedulable()) {
      out[name] = {true, "cordoned in Kubernetes"};
    } else if (!IsReady(node)) {
      out[name] = {false, "not ready in Kubernetes"};
    }
  }
  return out;
}

absl::Status KubeExecutor::Set(const kube::Node& node, const v1::Action& action) {
  if (kind_ == v1::ACTION_KIND_KUBERNETES_CONDITION) {
    return kube_.PatchNodeStatus(action.target(), ConditionPatch(node, true, action.reason(), clock_.Now()));
  }
  if (kind_ == v1::ACTION_KIND_KUBERNETES_TAINT) {
    return kube_.MergeNode(action.target(), TaintsPatch(node, action.action_id())).status();
  }
  return kube_
      .MergeNode(action.target(),
                 absl::StrCat("{\"metadata\":{", Version(node), ",\"annotations\":{\"", kAnnotation,
                              "\":", QuoteJson(action.action_id()), "}},\"spec\":{\"unschedulable\":true}}"))
      .status();
}

absl::Status KubeExecutor::Clear(const kube::Node& node, const v1::Action& action) {
  if (kind_ == v1::ACTION_KIND_KUBERNETES_CONDITION) {
    return kube_.PatchNodeStatus(action.target(), ConditionPatch(node, false, action.reason(), clock_.Now()));
  }
  if (kind_ == v1::ACTION_KIND_KUBERNETES_TAINT)
    return kube_.MergeNode(action.target(), TaintsPatch(node, "")).status();
  return kube_
      .MergeNode(action.target(), absl::StrCat("{\"metadata\":{", Version(node), ",\"annotations\":{\"",
                                               kAnnotation, "\":null}},\"spec\":{\"unschedulable\":null}}"))
      .status();
}

ActionResult KubeExecutor::Do(const v1::Action& action) {
  if (kind_ == v1::ACTION_KIND_KUBERNETES_EVENT) {
    const absl::Status made = kube_.CreateEvent(Event(action, clock_.Now()));
    if (made.ok() || absl::IsAborted(made)) return {ActionResult::kDone, "the event is made", {}};
    return Failed(made);
  }
  absl::StatusOr<kube::Node> node = kube_.GetNode(action.target());
  if (!node.ok()) return Failed(node.status());
  if (!Holder(*node, kind_).empty()) return Judge(*node, action);
  if (kind_ != v1::ACTION_KIND_KUBERNETES_CORDON && node->spec().unschedulable())
    return Left("cordoned in Kubernetes");
  if (const absl::Status set = Set(*node, action); !set.ok()) return Failed(set);
  node = kube_.GetNode(action.target());
  if (!node.ok()) return {ActionResult::kAgain, absl::StrCat("Kubernetes: ", node.status().message()), {}};
  ActionResult result = Judge(*node, action);
  if (result.kind == ActionResult::kDone) result.text = absl::StrCat("done: ", action.reason());
  return result;
}

ActionResult KubeExecutor::Check(const v1::Action& action) {
  if (kind_ == v1::ACTION_KIND_KUBERNETES_EVENT) return {};
  const absl::StatusOr<kube::Node> node = kube_.GetNode(action.target());
  if (absl::IsNotFound(node.status())) return Left("Kubernetes knows the node no more");
  if (!node.ok()) return {ActionResult::kAgain, absl::StrCat("Kubernetes: ", node.status().message()), {}};
  return Judge(*node, action);
}

ActionResult KubeExecutor::Undo(const v1::Action& action) {
  if (kind_ == v1::ACTION_KIND_KUBERNETES_EVENT) return {ActionResult::kDone, "an event stays", {}};
  const absl::StatusOr<kube::Node> node = kube_.GetNode(action.target());
  if (absl::IsNotFound(node.status())) return Left("Kubernetes knows the node no more");
  if (!node.ok()) return Failed(node.status());
  // By an earlier try whose answer was lost, or because it was never done.
  if (Holder(*node, kind_).empty()) return {ActionResult::kDone, "nothing is to be taken back", {}};
  const ActionResult result = Judge(*node, action);
  if (result.kind != ActionResult::kDone) return result;
  if (const absl::Status cleared = Clear(*node, action); !cleared.ok()) return Failed(cleared);
  return {ActionResult::kDone, "taken back", {}};
}

}  // namespace fleetmark::collector
