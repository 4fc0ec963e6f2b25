#include "collector/action/action_engine.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/action/action_text.h"
#include "collector/alert/alert_life.h"
#include "collector/alert/alert_routes.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

using v1::Action;
using AlertPtr = std::shared_ptr<const v1::Alert>;

constexpr size_t kMaxHeldBack = 1000;
constexpr absl::Duration kMaxRetry = absl::Minutes(10);
constexpr absl::Duration kDropInterval = absl::Hours(1);

// A problem on its way out: something that is listed with a node, and not over.
bool IsAbout(const v1::Alert& alert, const std::string& node) {
  return !IsResolved(alert.life()) &&
         std::find(alert.nodes().begin(), alert.nodes().end(), node) != alert.nodes().end();
}

}  // namespace

class ActionEngine::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        book_(*options_.book),
        clock_(*options_.clock),
        enabled_(options_.enabled),
        errors_(
            options_.metrics->AddCounter("fleetmark_action_errors_total",
                                         "Looks at the alerts for actions that failed and are repeated.")),
        done_(options_.metrics->AddCounter("fleetmark_actions_done_total", "Actions that were done.")),
        undone_(
            options_.metrics->AddCounter("fleetmark_actions_undone_total", "Actions that were taken back.")),
        left_(options_.metrics->AddCounter("fleetmark_actions_left_total",
                                           "Nodes that were left to a person who had them in hand.")),
        active_(options_.metrics->AddGauge("fleetmark_actions_active", "Actions that are not over.")),
        held_back_gauge_(options_.metrics->AddGauge("fleetmark_actions_held_back",
                                                    "Actions that caps, evidence or people hold back.")),
        thread_(clock_, options_.interval, [this] { PassOrTell(); }) {
    for (const Rule& rule : options_.rules) dry_.emplace(rule.name, *rule.executor);
  }

  absl::Status Pass();
  void PassOrTell();

  const Options options_;
  ActionBook& book_;
  Clock& clock_;
  std::atomic<bool> enabled_;
  mutable Mutex mu_;
  std::vector<v1::ActionHeldBack> held_back_ ABSL_GUARDED_BY(mu_);
  std::string trouble_ ABSL_GUARDED_BY(mu_);

 private:
  // An alert and a rule that fits it.
  struct Candidate {
    const Rule* rule = nullptr;
    AlertPtr alert;
    std::string node;
    Evidence evidence;
  };

  bool MayGoOn() const { return enabled_ && !book_.Switch().stopped() && !thread_.stopping(); }
  ActionExecutor* ExecutorOf(const Action& action);

  absl::Status Tend(const std::vector<AlertPtr>& alerts, absl::Time now);
  absl::Status TendOne(Action action, const std::vector<AlertPtr>& alerts, absl::Time now);
  absl::Status GoOn(Action action, const std::vector<AlertPtr>& alerts, absl::Time now);
  absl::Status Do(Action action);
  absl::Status Check(Action action, ActionExecutor& executor);
  absl::Status Undo(Action action);
  absl::Status End(Action action, Action::State state, const std::string& text);
  absl::Status Again(Action action, const std::string& text);

  absl::Status Decide(const std::vector<AlertPtr>& alerts, absl::Time now);
  std::vector<Candidate> Candidates(const std::vector<AlertPtr>& alerts, absl::Time now);
  std::string WhyNotAgain(const Rule& rule, const v1::Alert& alert, const std::string& node,
                          absl::Time now) const;
  std::vector<v1::Finding> FindingsOf(const v1::Alert& alert) const;
  absl::StatusOr<std::map<ActionExecutor*, NodesAway>> AskAway() const;
  // A person's hand on the node: entered, so that it stays so. True when the candidate is done with.
  absl::StatusOr<bool> LeaveToPerson(const Candidate& candidate, const ActionNode& node,
                                     const std::map<ActionExecutor*, NodesAway>& away);
  absl::Status Begin(const Candidate& candidate, const ActionNode& node);
  Action NewAction(const Candidate& candidate, const ActionNode& node) const;
  void HoldBack(const Candidate& candidate, const std::string& why);

  Counter& errors_;
  Counter& done_;
  Counter& undone_;
  Counter& left_;
  Gauge& active_;
  Gauge& held_back_gauge_;
  std::map<std::string, DryRunExecutor> dry_;  // by rule
  std::vector<v1::ActionHeldBack> next_held_back_;
  absl::Time dropped_ = absl::InfinitePast();

 public:
  PeriodicThread thread_;
};

void ActionEngine::Impl::PassOrTell() {
  const absl::Status status = Pass();
  if (status.ok()) return;
  errors_.Add();
  LogError("can't look after actions; tried again", {{"error", status}});
}

absl::Status ActionEngine::Impl::Pass() {
  const absl::Time now = clock_.Now();
  next_held_back_.clear();
  absl::Status status;
  if (MayGoOn()) {
    const std::vector<AlertPtr> alerts = options_.alerts();
    status = Tend(alerts, now);
    if (status.ok() && MayGoOn()) status = Decide(alerts, now);
  }
  size_t active = 0;
  for (const Action& action : book_.All()) active += IsActive(action) ? 1 : 0;
  active_.Set(static_cast<double>(active));
  held_back_gauge_.Set(static_cast<double>(next_held_back_.size()));
  {
    MutexLock lock(mu_);
    held_back_ = next_held_back_;
    trouble_ = Message(status);
  }
  if (!status.ok() || (now >= dropped_ && now - dropped_ < kDropInterval)) return status;
  dropped_ = now;
  return book_.DropEndedBefore(now - options_.keep_ended);
}

ActionExecutor* ActionEngine::Impl::ExecutorOf(const Action& action) {
  ActionExecutor* same_kind = nullptr;
  for (const Rule& rule : options_.rules) {
    if (rule.kind != action.kind()) continue;
    if (rule.name == action.rule()) return action.dry_run() ? &dry_.at(rule.name) : rule.executor;
    same_kind = rule.executor;
  }
  if (action.dry_run() || action.kind() == v1::ACTION_KIND_COMMAND) return nullptr;
  return same_kind;
}

// --- what was done already -----------------------------------------------------------------------------

absl::Status ActionEngine::Impl::Tend(const std::vector<AlertPtr>& alerts, absl::Time now) {
  for (const Action& action : book_.All()) {
    if (!IsActive(action)) continue;
    if (!MayGoOn()) return absl::OkStatus();
    FM_RETURN_IF_ERROR(TendOne(action, alerts, now));
  }
  return absl::OkStatus();
}

absl::Status ActionEngine::Impl::TendOne(Action action, const std::vector<AlertPtr>& alerts, absl::Time now) {
  ActionExecutor* executor = ExecutorOf(action);
  if (executor == nullptr) {
    if (action.dry_run())
      return End(action, Action::STATE_UNDONE, "its rule is gone; nothing had been touched");
    action.set_note(
        absl::StrCat("rule ", action.rule(), " is not configured any more: the node stays as it is"));
    book_.Remember(action);
    return absl::OkStatus();
  }
  if (action.dry_run() && !options_.dry_run) {
    return End(action, Action::STATE_UNDONE, "the dry run is over; nothing had been touched");
  }
  const absl::Duration until_retry = absl::FromUnixNanos(action.retry_unix_ns()) - now;
  if (until_retry > absl::ZeroDuration() && until_retry <= kMaxRetry) return absl::OkStatus();
  if (options_.dry_run && !action.dry_run()) return Check(action, *executor);

  const bool troubled = std::any_of(alerts.begin(), alerts.end(), [&](const AlertPtr& alert) {
    return IsAbout(*alert, action.node()) ||
           (alert->alert_id() == action.alert_id() && !IsResolved(alert->life()));
  });
  if (action.state() == Action::STATE_ENDING) return Undo(action);
  if (action.state() == Action::STATE_BEGUN) return GoOn(action, alerts, now);
  if (troubled) {
    action.set_clear_unix_ns(0);
  } else if (action.clear_unix_ns() == 0 || absl::FromUnixNanos(action.clear_unix_ns()) > now) {
    action.set_clear_unix_ns(absl::ToUnixNanos(now));
  }
  book_.Remember(action);
  if (troubled || now - absl::FromUnixNanos(action.clear_unix_ns()) < options_.recover_after) {
    return Check(action, *executor);
  }
  action.set_state(Action::STATE_ENDING);
  action.set_attempts(0);
  FM_RETURN_IF_ERROR(book_.Change(&action, "collector", "nothing is wrong with the node any more"));
  return Undo(action);
}

// Begun, and perhaps done: it is, if the alert still asks for it; else it is made sure that it is not.
absl::Status ActionEngine::Impl::GoOn(Action action, const std::vector<AlertPtr>& alerts, absl::Time now) {
  std::string why = "the alert is over before it was done";
  for (const AlertPtr& alert : alerts) {
    if (alert->alert_id() == action.alert_id()) why = WhyAlertWaits(*alert, absl::ZeroDuration(), now);
  }
  if (why.empty()) return Do(action);
  action.set_state(Action::STATE_ENDING);
  FM_RETURN_IF_ERROR(book_.Change(&action, "collector", why));
  return Undo(action);
}

absl::Status ActionEngine::Impl::Do(Action action) {
  if (!MayGoOn()) return absl::OkStatus();
  ActionResult result = ExecutorOf(action)->Do(action);
  switch (result.kind) {
    case ActionResult::kAgain:
      return Again(action, result.text);
    case ActionResult::kLeft:
      return End(action, Action::STATE_LEFT, result.text);
    case ActionResult::kRefused:
      return End(action, Action::STATE_REFUSED, result.text);
    case ActionResult::kDone:
      break;
  }
  done_.Add();
  action.set_state(Action::STATE_HELD);
  action.set_done_unix_ns(absl::ToUnixNanos(clock_.Now()));
  action.set_attempts(0);
  action.clear_retry_unix_ns();
  action.set_note("");
  *action.mutable_mark() = std::move(result.mark);
  return book_.Change(&action, "collector", result.text.empty() ? "done" : result.text);
}

absl::Status ActionEngine::Impl::Check(Action action, ActionExecutor& executor) {
  if (action.state() != Action::STATE_HELD) return absl::OkStatus();
  const ActionResult result = executor.Check(action);
  if (result.kind == ActionResult::kLeft) return End(action, Action::STATE_LEFT, result.text);
  if (result.text == action.note()) return absl::OkStatus();
  action.set_note(result.kind == ActionResult::kDone ? "" : result.text);
  book_.Remember(action);
  return absl::OkStatus();
}

absl::Status ActionEngine::Impl::Undo(Action action) {
  if (!MayGoOn()) return absl::OkStatus();
  const ActionResult result = ExecutorOf(action)->Undo(action);
  switch (result.kind) {
    case ActionResult::kDone:
      undone_.Add();
      return End(action, Action::STATE_UNDONE, result.text.empty() ? "taken back" : result.text);
    case ActionResult::kLeft:
      return End(action, Action::STATE_LEFT, result.text);
    default:
      // It is held there, so it is not given up.
      return Again(action, result.text);
  }
}

absl::Status ActionEngine::Impl::End(Action action, Action::State state, const std::string& text) {
  if (state == Action::STATE_LEFT) left_.Add();
  action.set_state(state);
  action.set_note(text);
  action.clear_retry_unix_ns();
  return book_.Change(&action, "collector", text);
}

// The first time it is entered; repetitions of the same words are not.
absl::Status ActionEngine::Impl::Again(Action action, const std::string& text) {
  const bool news = action.note() != text;
  action.set_attempts(action.attempts() + 1);
  const absl::Duration pause = options_.interval * (1 << std::min<uint32_t>(action.attempts(), 10));
  action.set_retry_unix_ns(absl::ToUnixNanos(clock_.Now() + std::min(pause, kMaxRetry)));
  action.set_note(text);
  if (news) return book_.Change(&action, "collector", text);
  book_.Remember(action);
  return absl::OkStatus();
}

// --- what is to be done --------------------------------------------------------------------------------

void ActionEngine::Impl::HoldBack(const Candidate& candidate, const std::string& why) {
  if (next_held_back_.size() >= kMaxHeldBack) return;
  v1::ActionHeldBack& entry = next_held_back_.emplace_back();
  entry.set_rule(candidate.rule->name);
  entry.set_node(candidate.node);
  entry.set_alert_id(candidate.alert->alert_id());
  entry.set_why(why);
}

// "-": it is active, or was told of already; nothing is to be said.
std::string ActionEngine::Impl::WhyNotAgain(const Rule& rule, const v1::Alert& alert, const std::string& node,
                                            absl::Time now) const {
  for (const Action& action : book_.All()) {
    if (action.node() != node) continue;
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

std::vector<v1::Finding> ActionEngine::Impl::FindingsOf(const v1::Alert& alert) const {
  std::vector<v1::Finding> out;
  for (const v1::AlertFinding& entry : alert.findings()) {
    if (!entry.open()) continue;
    absl::StatusOr<v1::Finding> finding = options_.finding(entry.finding_id());
    if (finding.ok()) out.push_back(*std::move(finding));
  }
  return out;
}

std::vector<ActionEngine::Impl::Candidate> ActionEngine::Impl::Candidates(const std::vector<AlertPtr>& alerts,
                                                                          absl::Time now) {
  std::vector<Candidate> out;
  for (const AlertPtr& alert : alerts) {
    const std::string node = NodeToActUpon(*alert);
    if (node.empty() || IsResolved(alert->life())) continue;
    const std::map<std::string, std::string> labels(alert->labels().begin(), alert->labels().end());
    for (const Rule& rule : options_.rules) {
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

absl::StatusOr<std::map<ActionExecutor*, NodesAway>> ActionEngine::Impl::AskAway() const {
  std::map<ActionExecutor*, NodesAway> out;
  for (const Rule& rule : options_.rules) {
    if (out.contains(rule.executor)) continue;
    FM_ASSIGN_OR_RETURN(out[rule.executor], rule.executor->Away());
  }
  return out;
}

absl::Status ActionEngine::Impl::Decide(const std::vector<AlertPtr>& alerts, absl::Time now) {
  const std::vector<Candidate> candidates = Candidates(alerts, now);
  if (candidates.empty()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(std::vector<ActionNode> nodes, options_.nodes());
  FM_ASSIGN_OR_RETURN(const auto away, AskAway());
  std::set<std::string> troubled;
  size_t unlisted = 0;
  for (const AlertPtr& alert : alerts) {
    if (IsResolved(alert->life())) continue;
    troubled.insert(alert->nodes().begin(), alert->nodes().end());
    const auto listed = static_cast<size_t>(alert->nodes_size());
    unlisted += alert->node_count() - std::min<size_t>(alert->node_count(), listed);
  }
  std::map<std::string, const ActionNode*> by_name;
  for (ActionNode& node : nodes) {
    const bool is_away = std::any_of(away.begin(), away.end(), [&](const auto& system) {
      return system.second.contains(system.first->TargetOf(node));
    });
    node.healthy = node.healthy && !is_away && !troubled.contains(node.name);
    by_name[node.name] = &node;
  }
  std::vector<Action> past = book_.All();
  // What was only tried on paper costs nothing of the real limits.
  if (!options_.dry_run) std::erase_if(past, [](const Action& action) { return action.dry_run(); });
  ActionBudget budget(options_.limits, nodes, past, unlisted, now);
  for (const Candidate& candidate : candidates) {
    if (!MayGoOn()) return absl::OkStatus();
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

absl::StatusOr<bool> ActionEngine::Impl::LeaveToPerson(const Candidate& candidate, const ActionNode& node,
                                                       const std::map<ActionExecutor*, NodesAway>& away) {
  for (const Action& action : book_.All()) {
    // Away by this collector's own hand; whether it still is its own, Check has just found out.
    if (action.node() == node.name && IsActive(action) && !action.dry_run()) return false;
  }
  for (const auto& [executor, nodes] : away) {
    const auto it = nodes.find(executor->TargetOf(node));
    if (it == nodes.end()) continue;
    if (it->second.by_person) {
      Action action = NewAction(candidate, node);
      action.set_state(Action::STATE_LEFT);
      action.set_note(it->second.text);
      left_.Add();
      FM_RETURN_IF_ERROR(book_.Enter(&action, absl::StrCat("left to people: ", it->second.text)));
    }
    HoldBack(candidate, it->second.text);
    return true;
  }
  return false;
}

Action ActionEngine::Impl::NewAction(const Candidate& candidate, const ActionNode& node) const {
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

absl::Status ActionEngine::Impl::Begin(const Candidate& candidate, const ActionNode& node) {
  Action action = NewAction(candidate, node);
  action.set_state(Action::STATE_BEGUN);
  NameAction(*candidate.alert, clock_.Now(), &action);
  FM_RETURN_IF_ERROR(
      book_.Enter(&action, absl::StrCat(candidate.alert->title(), "; ", candidate.evidence.text)));
  return Do(action);
}

ActionEngine::ActionEngine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ActionEngine::~ActionEngine() { Stop(); }

void ActionEngine::Start() { impl_->thread_.Start(); }
void ActionEngine::Stop() { impl_->thread_.Stop(); }
absl::Status ActionEngine::RunOnce() { return impl_->Pass(); }
void ActionEngine::SetEnabled(bool enabled) { impl_->enabled_ = enabled; }
bool ActionEngine::enabled() const { return impl_->enabled_; }
bool ActionEngine::dry_run() const { return impl_->options_.dry_run; }
std::vector<v1::ActionHeldBack> ActionEngine::HeldBack() const {
  MutexLock lock(impl_->mu_);
  return impl_->held_back_;
}
std::string ActionEngine::Trouble() const {
  MutexLock lock(impl_->mu_);
  return impl_->trouble_;
}

}  // namespace fleetmark::collector
