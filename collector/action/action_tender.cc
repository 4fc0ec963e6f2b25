#include "collector/action/action_tender.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/action/action_book.h"
#include "collector/alert/alert_life.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

using v1::Action;

constexpr absl::Duration kMaxRetry = absl::Minutes(10);

// A problem on its way out: something that is listed with a node, and not over.
bool IsAbout(const v1::Alert& alert, const std::string& node) {
  return !IsResolved(alert.life()) &&
         std::find(alert.nodes().begin(), alert.nodes().end(), node) != alert.nodes().end();
}

}  // namespace

ActionTender::ActionTender(const ActionOptions& options, std::function<bool()> may_go_on)
    : options_(options),
      book_(*options.book),
      clock_(*options.clock),
      may_go_on_(std::move(may_go_on)),
      done_(options.metrics->AddCounter("fleetmark_actions_done_total", "Actions that were done.")),
      undone_(options.metrics->AddCounter("fleetmark_actions_undone_total", "Actions that were taken back.")),
      left_(options.metrics->AddCounter("fleetmark_actions_left_total",
                                        "Nodes that were left to a person who had them in hand.")) {
  for (const ActionRule& rule : options_.rules) dry_.emplace(rule.name, *rule.executor);
}

ActionExecutor* ActionTender::ExecutorOf(const Action& action) {
  ActionExecutor* same_kind = nullptr;
  for (const ActionRule& rule : options_.rules) {
    if (rule.kind != action.kind()) continue;
    if (rule.name == action.rule()) return action.dry_run() ? &dry_.at(rule.name) : rule.executor;
    same_kind = rule.executor;
  }
  if (action.dry_run() || action.kind() == v1::ACTION_KIND_COMMAND) return nullptr;
  return same_kind;
}

absl::Status ActionTender::TendAll(const std::vector<AlertPtr>& alerts, absl::Time now) {
  for (const Action& action : book_.Active()) {
    if (!may_go_on_()) return absl::OkStatus();
    FM_RETURN_IF_ERROR(Tend(action, alerts, now));
  }
  return absl::OkStatus();
}

absl::Status ActionTender::Tend(Action action, const std::vector<AlertPtr>& alerts, absl::Time now) {
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
  if (options_.dry_run && !action.dry_run()) return Check(std::move(action), *executor);

  const bool troubled = std::any_of(alerts.begin(), alerts.end(), [&](const AlertPtr& alert) {
    return IsAbout(*alert, action.node()) ||
           (alert->alert_id() == action.alert_id() && !IsResolved(alert->life()));
  });
  if (action.state() == Action::STATE_ENDING) return Undo(action);
  if (action.state() == Action::STATE_BEGUN) return GoOn(action, alerts, now);
  return TendHeld(std::move(action), troubled, now);
}

absl::Status ActionTender::TendHeld(Action action, bool troubled, absl::Time now) {
  if (troubled) {
    action.set_clear_unix_ns(0);
  } else if (action.clear_unix_ns() == 0 || absl::FromUnixNanos(action.clear_unix_ns()) > now) {
    action.set_clear_unix_ns(absl::ToUnixNanos(now));
  }
  book_.Remember(action);
  if (troubled || now - absl::FromUnixNanos(action.clear_unix_ns()) < options_.recover_after) {
    return Check(action, *ExecutorOf(action));
  }
  action.set_state(Action::STATE_ENDING);
  action.set_attempts(0);
  FM_RETURN_IF_ERROR(book_.Change(&action, "collector", "nothing is wrong with the node any more"));
  return Undo(action);
}

// Begun, and perhaps done: it is, if the alert still asks for it; else it is made sure that it is not.
absl::Status ActionTender::GoOn(Action action, const std::vector<AlertPtr>& alerts, absl::Time now) {
  std::string why = "the alert is over before it was done";
  for (const AlertPtr& alert : alerts) {
    if (alert->alert_id() == action.alert_id()) why = WhyAlertWaits(*alert, absl::ZeroDuration(), now);
  }
  if (why.empty()) return Do(action);
  action.set_state(Action::STATE_ENDING);
  FM_RETURN_IF_ERROR(book_.Change(&action, "collector", why));
  return Undo(action);
}

absl::Status ActionTender::Do(Action action) {
  if (!may_go_on_()) return absl::OkStatus();
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

absl::Status ActionTender::Check(Action action, ActionExecutor& executor) {
  if (action.state() != Action::STATE_HELD) return absl::OkStatus();
  const ActionResult result = executor.Check(action);
  if (result.kind == ActionResult::kLeft) return End(action, Action::STATE_LEFT, result.text);
  if (result.text == action.note()) return absl::OkStatus();
  action.set_note(result.kind == ActionResult::kDone ? "" : result.text);
  book_.Remember(action);
  return absl::OkStatus();
}

absl::Status ActionTender::Undo(Action action) {
  if (!may_go_on_()) return absl::OkStatus();
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

absl::Status ActionTender::End(Action action, Action::State state, const std::string& text) {
  if (state == Action::STATE_LEFT) left_.Add();
  action.set_state(state);
  action.set_note(text);
  action.clear_retry_unix_ns();
  return book_.Change(&action, "collector", text);
}

// The first time it is entered; repetitions of the same words are not.
absl::Status ActionTender::Again(Action action, const std::string& text) {
  const bool news = action.note() != text;
  action.set_attempts(action.attempts() + 1);
  const absl::Duration pause = options_.interval * (1 << std::min<uint32_t>(action.attempts(), 10));
  action.set_retry_unix_ns(absl::ToUnixNanos(clock_.Now() + std::min(pause, kMaxRetry)));
  action.set_note(text);
  if (news) return book_.Change(&action, "collector", text);
  book_.Remember(action);
  return absl::OkStatus();
}

absl::Status ActionTender::TakeBack(Action action, const std::string& by) {
  action.set_state(Action::STATE_ENDING);
  action.set_attempts(0);
  action.clear_retry_unix_ns();
  return book_.Change(&action, by, "is to be taken back");
}

}  // namespace fleetmark::collector
