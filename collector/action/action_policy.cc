#include "collector/action/action_policy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_life.h"

namespace fleetmark::collector {
namespace {

// Shares are written in percent: 29 % of 100 is 29, though 0.29 * 100 is a little less.
constexpr double kRounding = 1e-9;

size_t ShareRoundedDown(double share, size_t of) {
  return static_cast<size_t>(std::floor(share * static_cast<double>(of) + kRounding));
}
size_t ShareRoundedUp(double share, size_t of) {
  return static_cast<size_t>(std::ceil(share * static_cast<double>(of) - kRounding));
}

std::string Percent(double share) { return absl::StrFormat("%g %%", share * 100); }

bool Counts(const v1::Finding& finding, const std::string& node) {
  const bool measured =
      finding.kind() != v1::Finding::KIND_SILENCE && finding.kind() != v1::Finding::KIND_FLEET;
  return measured && finding.state() == v1::Finding::STATE_OPEN &&
         finding.direction() == v1::Finding::DIRECTION_WORSE && finding.budget().within() &&
         NodesOf(finding) == std::set<std::string>{node} && NodeCountOf(finding) == 1;
}

}  // namespace

bool ActionCounts(const v1::Action& action, absl::Duration period, absl::Time now) {
  if (action.state() == v1::Action::STATE_REFUSED) return false;
  if (IsActive(action)) return true;
  if (action.state() == v1::Action::STATE_LEFT && action.done_unix_ns() == 0) return false;
  return now - absl::FromUnixNanos(action.begun_unix_ns()) < period;
}

ActionBudget::ActionBudget(const ActionLimits& limits, absl::Span<const ActionNode> nodes,
                           absl::Span<const v1::Action> past, size_t unlisted, absl::Time now)
    : limits_(limits), unlisted_(unlisted) {
  for (const ActionNode& node : nodes) {
    class_of_[node.name] = node.node_class;
    Class& of = classes_[node.node_class];
    ++of.nodes;
    if (node.healthy) of.healthy.insert(node.name);
  }
  for (const v1::Action& action : past) {
    if (ActionCounts(action, limits_.period, now)) Take(action.node());
    if (IsActive(action)) {
      // It is not at work, whatever else is known of it.
      for (auto& [name, of] : classes_) of.healthy.erase(action.node());
    }
  }
}

absl::Status ActionBudget::Check(const std::string& node) const {
  const auto known = class_of_.find(node);
  if (known == class_of_.end()) return absl::NotFoundError(absl::StrCat("no node ", node, " is known"));
  const Class& of = classes_.at(known->second);
  const size_t healthy = of.healthy.size() - of.healthy.count(node);
  const size_t sure = healthy - std::min(healthy, unlisted_);
  const size_t needed =
      std::max<size_t>(ShareRoundedUp(limits_.min_healthy, of.nodes), limits_.min_healthy_nodes);
  if (sure < needed) {
    return absl::ResourceExhaustedError(absl::StrCat("limits.min_healthy: of the ", of.nodes,
                                                     " nodes of its class ", sure,
                                                     " others are healthy, and ", needed, " must be"));
  }
  if (acted_.contains(node)) return absl::OkStatus();
  const std::string period = absl::FormatDuration(limits_.period);
  if (acted_.size() >= limits_.max_nodes) {
    return absl::ResourceExhaustedError(absl::StrCat("limits.max_nodes: ", acted_.size(),
                                                     " nodes are held or were acted upon within ", period,
                                                     ", at most ", limits_.max_nodes, " may be"));
  }
  const size_t most = ShareRoundedDown(limits_.max_share, of.nodes);
  if (of.acted.size() >= most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "limits.max_share: ", of.acted.size(), " nodes of its class are held or were acted upon within ",
        period, ", at most ", most, " may be (", Percent(limits_.max_share), " of ", of.nodes, ")"));
  }
  return absl::OkStatus();
}

void ActionBudget::Take(const std::string& node) {
  acted_.insert(node);
  const auto known = class_of_.find(node);
  if (known == class_of_.end()) return;
  Class& of = classes_[known->second];
  of.acted.insert(node);
  of.healthy.erase(node);
}

Evidence WeighEvidence(const std::string& node, absl::Span<const v1::Finding> findings,
                       const EvidenceNeeded& needed) {
  Evidence out;
  std::set<std::string> benchmarks;
  std::string confirmed;
  for (const v1::Finding& finding : findings) {
    if (!Counts(finding, node)) continue;
    out.finding_ids.push_back(finding.finding_id());
    benchmarks.merge(BenchmarksOf(finding));
    if (finding.confirmation().state() == v1::Confirmation::STATE_CONFIRMED) confirmed = finding.finding_id();
  }
  std::sort(out.finding_ids.begin(), out.finding_ids.end());
  const std::string shown = absl::StrJoin(benchmarks, ", ");
  if (needed.confirmed_alone && !confirmed.empty()) {
    out.enough = true;
    out.text = absl::StrCat("finding ", confirmed, " was confirmed by runs; shown by ", shown);
  } else if (benchmarks.size() >= needed.benchmarks && !benchmarks.empty()) {
    out.enough = true;
    out.text = absl::StrCat("shown by ", benchmarks.size(), " benchmarks: ", shown);
  } else {
    out.text =
        absl::StrCat("shown by ", benchmarks.size(), benchmarks.size() == 1 ? " benchmark" : " benchmarks",
                     benchmarks.empty() ? "" : ", ", shown, "; needed are ", needed.benchmarks,
                     needed.confirmed_alone ? ", or a finding that runs confirmed" : "");
  }
  return out;
}

std::string NodeToActUpon(const v1::Alert& alert) {
  if (alert.class_() != v1::ALERT_CLASS_SLOW && alert.class_() != v1::ALERT_CLASS_FAILING) return "";
  return alert.node_count() == 1 && alert.nodes_size() == 1 ? alert.nodes(0) : "";
}

std::string WhyAlertWaits(const v1::Alert& alert, absl::Duration settle, absl::Time now) {
  const v1::AlertLife& life = alert.life();
  switch (life.state()) {
    case v1::AlertLife::STATE_FIRING:
      break;
    case v1::AlertLife::STATE_PENDING:
      return "the alert awaits its confirmation";
    case v1::AlertLife::STATE_ACKNOWLEDGED:
      return absl::StrCat("acknowledged by ", life.acknowledged().by());
    case v1::AlertLife::STATE_SILENCED:
      return life.mutes_size() > 0 ? life.mutes(0).text() : "the alert is silenced";
    default:
      return "the alert does not fire";
  }
  if (life.clear_unix_ns() != 0) return "the alert goes away";
  if (life.flapping()) return "the alert flaps";
  const absl::Time since = std::min(absl::FromUnixNanos(life.firing_unix_ns()), now);
  if (now - since < settle) {
    return absl::StrCat("settle: the alert fires for less than ", absl::FormatDuration(settle));
  }
  return "";
}

}  // namespace fleetmark::collector
