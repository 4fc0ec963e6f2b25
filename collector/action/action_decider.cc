#include "collector/action/action_decider.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/action/action_book.h"
#include "collector/action/action_text.h"
#include "collector/alert/alert_life.h"
#include "collector/alert/alert_routes.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace fleetmark::collector {

using v1::Action;

ActionDecider::ActionDecider(const ActionOptions& options, ActionTender& tender,
                             std::function<bool()> may_go_on)
    : options_(options),
      book_(*options.book),
      clock_(*options.clock),
      tender_(tender),
      may_go_on_(std::move(may_go_on)) {}

void ActionDecider::HoldBack(const Candidate& candidate, const std::string& why) {
  if (held_back_.size() >= kMaxHeldBack) return;
  v1::ActionHeldBack& entry = held_back_.emplace_back();
  entry.set_rule(candidate.rule->name);
  entry.set_node(candidate.node);
  entry.set_alert_id(candidate.alert->alert_id());
  entry.set_why(why);
}

// "-": it is active, or was told of already; nothing is to be said.
std::string ActionDecider::WhyNotAgain(const ActionRule& rule, const v1::Alert& alert,
                                       const std::string& node, absl::Time now) const {
  for (const Action& action : book_.OfNode(node)) {
    const absl::Duration ago = now - absl::FromUnixNanos(action.ended_unix_ns());
    if (action.state() == Action::STATE_LEFT) {
      const bool touched = action.done_unix_ns() != 0 && ago < options_.limits.period;
      if (touched || action.alert_id() == alert.alert_id())
        return absl::StrCat("left to people: ", action.note());
    }
    if (action.rule() != rule.name || action.dry_run() != options_.dry_run) continue;
    if (IsActive(action)) return "-";
    if (action.alert_id() != alert.alert_id()) continue;
    if (action.state() == Action::STATE_REFUSED && ago < options_.retry_refused) {
      return absl::StrCat("refused: ", action.note());
    }
    // Taken back; the alert has to fire anew.
    if (action.state() == Action::STATE_UNDONE && action.ended_unix_ns() >= alert.life().firing_unix_ns()) {
      return "-";
    }
  }
  return "";
}

std::vector<v1::Finding> ActionDecider::FindingsOf(const v1::Alert& alert) const {
  std::vector<v1::Finding> out;
  for (const v1::AlertFinding& entry : alert.findings()) {
    if (!entry.open()) continue;
    absl::StatusOr<v1::Finding> finding = options_.finding(entry.finding_id());
    if (finding.ok()) out.push_back(*std::move(finding));
  }
  return out;
}

std::vector<ActionDecider::Candidate> ActionDecider::Candidates(const std::vector<AlertPtr>& alerts,
                                                                absl::Time now) {
  std::vector<Candidate> out;
  for (const AlertPtr& alert : alerts) {
    const std::string node = NodeToActUpon(*alert);
    if (node.empty() || IsResolved(alert->life())) continue;
    const std::map<std::string, std::string> labels(alert->labels().begin(), alert->labels().end());
    for (const ActionRule& rule : options_.rules) {
      if (!MatchesLabels(rule.match, labels)) continue;
      Candidate candidate{&rule, alert, node, {}};
      std::string why = WhyNotAgain(rule, *alert, node, now);
      if (why == "-") continue;
      if (why.empty()) why = WhyAlertWaits(*alert, options_.settle, now);
      if (why.empty()) {
        candidate.evidence = WeighEvidence(node, FindingsOf(*alert), options_.evidence);
        if (!candidate.evidence.enough) why = absl::StrCat("evidence: ", candidate.evidence.text);
      }
      if (why.empty()) {
        out.push_back(std::move(candidate));
      } else {
        HoldBack(candidate, why);
      }
    }
  }
  // Who fires longest comes first, so that a cap does not let the newest in.
  std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    return std::make_pair(a.alert->life().firing_unix_ns(), a.alert->alert_id()) <
           std::make_pair(b.alert->life().firing_unix_ns(), b.alert->alert_id());
  });
  return out;
}

absl::StatusOr<ActionDecider::AwayBySystem> ActionDecider::AskAway() const {
  AwayBySystem out;
  for (const ActionRule& rule : options_.rules) {
    if (out.contains(rule.executor)) continue;
    FM_ASSIGN_OR_RETURN(out[rule.executor], rule.executor->Away());
  }
  return out;
}

ActionBudget ActionDecider::BudgetOf(const std::vector<ActionNode>& nodes,
                                     const std::vector<AlertPtr>& alerts, absl::Time now) const {
  size_t unlisted = 0;
  for (const AlertPtr& alert : alerts) {
    if (IsResolved(alert->life())) continue;
    const auto listed = static_cast<size_t>(alert->nodes_size());
    unlisted += alert->node_count() - std::min<size_t>(alert->node_count(), listed);
  }
  std::vector<Action> past = book_.All();
  // What was only tried on paper costs nothing of the real limits.
  if (!options_.dry_run) std::erase_if(past, [](const Action& action) { return action.dry_run(); });
  return ActionBudget(options_.limits, nodes, past, unlisted, now);
}

absl::Status ActionDecider::Decide(const std::vector<AlertPtr>& alerts, absl::Time now) {
  const std::vector<Candidate> candidates = Candidates(alerts, now);
  if (candidates.empty()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(std::vector<ActionNode> nodes, options_.nodes());
  FM_ASSIGN_OR_RETURN(const AwayBySystem away, AskAway());
  std::set<std::string> troubled;
  for (const AlertPtr& alert : alerts) {
    if (!IsResolved(alert->life())) troubled.insert(alert->nodes().begin(), alert->nodes().end());
  }
  std::map<std::string, const ActionNode*> by_name;
  for (ActionNode& node : nodes) {
    const bool is_away = std::any_of(away.begin(), away.end(), [&](const auto& system) {
      return system.second.contains(system.first->TargetOf(node));
    });
    node.healthy = node.healthy && !is_away && !troubled.contains(node.name);
    by_name[node.name] = &node;
  }
  ActionBudget budget = BudgetOf(nodes, alerts, now);
  for (const Candidate& candidate : candidates) {
    if (!may_go_on_()) return absl::OkStatus();
    const auto node = by_name.find(candidate.node);
    if (node == by_name.end()) continue;
    FM_ASSIGN_OR_RETURN(const bool left, LeaveToPerson(candidate, *node->second, away));
    if (left) continue;
    if (const absl::Status room = budget.Check(candidate.node); !room.ok()) {
      HoldBack(candidate, Message(room));
      continue;
    }
    budget.Take(candidate.node);
    FM_RETURN_IF_ERROR(Begin(candidate, *node->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ActionDecider::LeaveToPerson(const Candidate& candidate, const ActionNode& node,
                                                  const AwayBySystem& away) {
  for (const Action& action : book_.OfNode(node.name)) {
    // Away by this collector's own hand; whether it still is its own, Check has just found out.
    if (IsActive(action) && !action.dry_run()) return false;
  }
  for (const auto& [executor, nodes] : away) {
    const auto it = nodes.find(executor->TargetOf(node));
    if (it == nodes.end()) continue;
    if (it->second.by_person) {
      Action action = NewAction(candidate, node);
      action.set_state(Action::STATE_LEFT);
      action.set_note(it->second.text);
      tender_.CountLeft();
      FM_RETURN_IF_ERROR(book_.Enter(&action, absl::StrCat("left to people: ", it->second.text)));
    }
    HoldBack(candidate, it->second.text);
    return true;
  }
  return false;
}

Action ActionDecider::NewAction(const Candidate& candidate, const ActionNode& node) const {
  Action action;
  action.set_kind(candidate.rule->kind);
  action.set_rule(candidate.rule->name);
  action.set_node(node.name);
  action.set_target(candidate.rule->executor->TargetOf(node));
  action.set_node_class(node.node_class);
  action.set_alert_id(candidate.alert->alert_id());
  for (const std::string& id : candidate.evidence.finding_ids) action.add_finding_ids(id);
  action.set_evidence(candidate.evidence.text);
  action.set_dry_run(options_.dry_run);
  return action;
}

absl::Status ActionDecider::Begin(const Candidate& candidate, const ActionNode& node) {
  Action action = NewAction(candidate, node);
  action.set_state(Action::STATE_BEGUN);
  NameAction(*candidate.alert, clock_.Now(), &action);
  FM_RETURN_IF_ERROR(
      book_.Enter(&action, absl::StrCat(candidate.alert->title(), "; ", candidate.evidence.text)));
  return tender_.Do(std::move(action));
}

}  // namespace fleetmark::collector
