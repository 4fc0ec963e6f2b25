#include "collector/alert/alert_life.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fleetmark::collector {
namespace {

using v1::AlertChange;
using v1::AlertLife;
using v1::Notice;

constexpr const char* kCollector = "collector";
constexpr int kMaxRefired = 16;

// One step, with what its parts share.
class Stepper {
 public:
  Stepper(const AlertPolicy& policy, absl::Time now, AlertLife* life, AlertStep* step)
      : policy_(policy), now_(now), now_ns_(absl::ToUnixNanos(now)), life_(*life), step_(*step) {}

  void Run(const AlertCondition& condition) {
    ClampTimes();
    MoveOn(condition);
    if (!IsFiring(life_)) return;
    SetMutes(condition);
    life_.set_state(FiringState());
    TellIfDue(condition);
  }

  void Record(AlertChange::Kind kind, const std::string& by, const std::string& text) {
    AlertChange change;
    life_.set_last_sequence(life_.last_sequence() + 1);
    change.set_sequence(life_.last_sequence());
    change.set_time_unix_ns(now_ns_);
    change.set_kind(kind);
    change.set_state(life_.state());
    change.set_by(by);
    change.set_text(text);
    step_.changes.push_back(std::move(change));
  }

  void Tell(Notice::Reason reason, const std::vector<std::string>& receivers) {
    if (receivers.empty()) return;
    life_.set_notices(life_.notices() + 1);
    Record(AlertChange::KIND_NOTICE, kCollector, ReasonText(reason));
    for (const std::string& receiver : receivers) step_.changes.back().add_receivers(receiver);
    step_.notices.push_back({life_.notices(), reason, receivers});
  }

  std::vector<std::string> Told() const { return {life_.told().begin(), life_.told().end()}; }

  AlertLife::State FiringState() const {
    if (life_.mutes_size() > 0) return AlertLife::STATE_SILENCED;
    return life_.has_acknowledged() ? AlertLife::STATE_ACKNOWLEDGED : AlertLife::STATE_FIRING;
  }

 private:
  static std::string ReasonText(Notice::Reason reason) {
    switch (reason) {
      case Notice::REASON_FIRING:
        return "told that it fires";
      case Notice::REASON_REPEAT:
        return "told again, as it still fires and nobody acknowledged it";
      case Notice::REASON_GREW:
        return "told that it has grown";
      case Notice::REASON_ESCALATED:
        return "escalated, as nobody acknowledged it in time";
      case Notice::REASON_ACKNOWLEDGED:
        return "told that it is acknowledged";
      default:
        return "told that it is resolved";
    }
  }

  absl::Duration Since(int64_t unix_ns) const { return now_ - absl::FromUnixNanos(unix_ns); }

  void ClampTimes() {
    const auto clamp = [this](int64_t time) { return std::min(time, now_ns_); };
    life_.set_opened_unix_ns(clamp(life_.opened_unix_ns()));
    life_.set_firing_unix_ns(clamp(life_.firing_unix_ns()));
    life_.set_clear_unix_ns(clamp(life_.clear_unix_ns()));
    life_.set_resolved_unix_ns(clamp(life_.resolved_unix_ns()));
    life_.set_told_unix_ns(clamp(life_.told_unix_ns()));
    life_.set_last_notice_unix_ns(clamp(life_.last_notice_unix_ns()));
    for (int64_t& time : *life_.mutable_refired_unix_ns()) time = clamp(time);
  }

  void MoveOn(const AlertCondition& condition) {
    if (IsResolved(life_)) {
      if (condition.kind == AlertCondition::kFiring) return Fire();
      const bool may_wait = condition.kind == AlertCondition::kPending && !life_.unconfirmed();
      if (may_wait) Open();
      return;
    }
    if (life_.state() == AlertLife::STATE_PENDING) return MoveOnPending(condition);
    if (condition.kind == AlertCondition::kFiring) {
      life_.set_clear_unix_ns(0);
      return;
    }
    if (life_.clear_unix_ns() == 0) life_.set_clear_unix_ns(now_ns_);
    const absl::Duration needed =
        life_.flapping() ? std::max(policy_.resolve_after, policy_.flap_quiet) : policy_.resolve_after;
    if (Since(life_.clear_unix_ns()) >= needed) Resolve(condition.why_clear);
  }

  void MoveOnPending(const AlertCondition& condition) {
    if (condition.kind == AlertCondition::kFiring) return Fire();
    if (condition.kind == AlertCondition::kClear) return Resolve(condition.why_clear);
    if (Since(life_.opened_unix_ns()) < policy_.pending_limit) return;
    life_.set_unconfirmed(true);
    Resolve("not confirmed in time: the node had no time for enough runs");
  }

  void Open() {
    life_.set_state(AlertLife::STATE_PENDING);
    life_.clear_acknowledged();  // of the firing before
    life_.set_opened_unix_ns(now_ns_);
    life_.set_firing_unix_ns(0);
    life_.clear_resolution();
    life_.set_resolved_unix_ns(0);
    Record(AlertChange::KIND_OPENED, kCollector, "awaits confirmation");
  }

  void Fire() {
    const bool again = life_.firings() > 0;
    if (IsResolved(life_)) life_.set_opened_unix_ns(now_ns_);
    life_.set_state(AlertLife::STATE_FIRING);
    life_.set_firing_unix_ns(now_ns_);
    life_.set_clear_unix_ns(0);
    life_.set_resolved_unix_ns(0);
    life_.clear_resolution();
    life_.set_unconfirmed(false);
    life_.set_firings(life_.firings() + 1);
    life_.clear_acknowledged();
    life_.clear_mutes();
    life_.clear_told();
    life_.set_told_unix_ns(0);
    life_.set_last_notice_unix_ns(0);
    life_.set_told_nodes(0);
    life_.set_told_severity(v1::ALERT_SEVERITY_UNSPECIFIED);
    life_.set_escalated(false);
    Record(again ? AlertChange::KIND_REOPENED : AlertChange::KIND_FIRING, kCollector,
           again ? absl::StrCat("fires for the ", life_.firings(), ". time") : "fires");
    if (again) NoteReopening();
  }

  void NoteReopening() {
    auto& times = *life_.mutable_refired_unix_ns();
    times.erase(std::remove_if(times.begin(), times.end(),
                               [this](int64_t time) { return Since(time) > policy_.reopen_within; }),
                times.end());
    if (times.size() == kMaxRefired) times.erase(times.begin());
    times.Add(now_ns_);
    if (life_.flapping() || times.size() < policy_.flap_reopenings) return;
    life_.set_flapping(true);
    Record(AlertChange::KIND_FLAPPING, kCollector,
           absl::StrCat("flaps: from now on it is resolved after ", absl::FormatDuration(policy_.flap_quiet),
                        " of quiet"));
  }

  void Resolve(const std::string& why) {
    life_.set_state(AlertLife::STATE_RESOLVED);
    life_.set_resolved_unix_ns(now_ns_);
    life_.set_resolution(why);
    life_.clear_mutes();
    if (life_.flapping()) {  // it has been quiet for long enough
      life_.set_flapping(false);
      life_.clear_refired_unix_ns();
    }
    Record(AlertChange::KIND_RESOLVED, kCollector, why);
    Tell(Notice::REASON_RESOLVED, Told());
    life_.clear_told();
  }

  void SetMutes(const AlertCondition& condition) {
    const auto key = [](const v1::AlertMute& mute) { return absl::StrCat(mute.kind(), "/", mute.by()); };
    std::vector<std::string> before, after;
    for (const v1::AlertMute& mute : life_.mutes()) before.push_back(key(mute));
    for (const v1::AlertMute& mute : condition.mutes) after.push_back(key(mute));
    if (before == after) return;
    const bool was_muted = life_.mutes_size() > 0;
    *life_.mutable_mutes() = {condition.mutes.begin(), condition.mutes.end()};
    life_.set_state(FiringState());
    if (life_.mutes_size() == 0) {
      Record(AlertChange::KIND_UNMUTED, kCollector, "nothing mutes it any more");
    } else {
      std::vector<std::string> why;
      for (const v1::AlertMute& mute : condition.mutes) why.push_back(mute.text());
      Record(AlertChange::KIND_MUTED, kCollector,
             absl::StrCat(was_muted ? "muted otherwise: " : "muted: ", absl::StrJoin(why, "; ")));
    }
  }

  void TellIfDue(const AlertCondition& condition) {
    if (condition.kind != AlertCondition::kFiring || life_.mutes_size() > 0) return;
    const bool acknowledged = life_.has_acknowledged();
    if (!acknowledged) TellNew(condition);
    if (life_.told().empty()) return;
    if (TellGrown(condition) || acknowledged || Escalate(condition)) return;
    if (Since(life_.last_notice_unix_ns()) < policy_.repeat) return;
    MarkTold(condition);
    Tell(Notice::REASON_REPEAT, Told());
  }

  // Those that are to know and don't: all at first, later those whose hours begin.
  void TellNew(const AlertCondition& condition) {
    const bool first = life_.told().empty();
    if (first && !condition.whole && Since(life_.firing_unix_ns()) < policy_.wait) return;
    std::vector<std::string> unaware;
    for (const std::string& receiver : condition.receivers) {
      if (std::find(life_.told().begin(), life_.told().end(), receiver) == life_.told().end()) {
        unaware.push_back(receiver);
        life_.add_told(receiver);
      }
    }
    if (unaware.empty()) return;
    life_.set_last_notice_unix_ns(now_ns_);
    if (first) {
      life_.set_told_unix_ns(now_ns_);
      MarkTold(condition);
    }
    Tell(Notice::REASON_FIRING, unaware);
  }

  bool TellGrown(const AlertCondition& condition) {
    const bool severer = condition.severity > life_.told_severity();
    const bool larger = condition.size >= 2 * std::max<uint32_t>(1, life_.told_nodes());
    if (!severer && !larger) return false;
    if (Since(life_.last_notice_unix_ns()) < policy_.update_interval) return false;
    Record(AlertChange::KIND_GREW, kCollector,
           severer
               ? "more severe than it was told"
               : absl::StrCat("now ", condition.size, " nodes, ", life_.told_nodes(), " when it was told"));
    MarkTold(condition);
    Tell(Notice::REASON_GREW, Told());
    return true;
  }

  bool Escalate(const AlertCondition& condition) {
    if (life_.escalated() || condition.escalate_after <= absl::ZeroDuration() ||
        Since(life_.told_unix_ns()) < condition.escalate_after) {
      return false;
    }
    life_.set_escalated(true);
    for (const std::string& receiver : condition.escalate_to) {
      if (std::find(life_.told().begin(), life_.told().end(), receiver) == life_.told().end()) {
        life_.add_told(receiver);
      }
    }
    life_.set_last_notice_unix_ns(now_ns_);
    Tell(Notice::REASON_ESCALATED, condition.escalate_to);
    return true;
  }

  void MarkTold(const AlertCondition& condition) {
    life_.set_last_notice_unix_ns(now_ns_);
    life_.set_told_nodes(std::max(life_.told_nodes(), condition.size));
    life_.set_told_severity(std::max(life_.told_severity(), condition.severity));
  }

  const AlertPolicy& policy_;
  const absl::Time now_;
  const int64_t now_ns_;
  AlertLife& life_;
  AlertStep& step_;
};

}  // namespace

AlertStep StepAlert(const AlertCondition& condition, const AlertPolicy& policy, absl::Time now,
                    v1::AlertLife* life) {
  AlertStep step;
  Stepper(policy, now, life, &step).Run(condition);
  return step;
}

absl::Status AcknowledgeAlert(const v1::Acknowledgement& by, absl::Time now, v1::AlertLife* life,
                              AlertStep* step) {
  if (IsResolved(*life)) return absl::FailedPreconditionError("the alert is resolved already");
  if (!IsFiring(*life))
    return absl::FailedPreconditionError("the alert awaits confirmation; it does not fire");
  const AlertPolicy none;
  Stepper stepper(none, now, life, step);
  *life->mutable_acknowledged() = by;
  life->mutable_acknowledged()->set_time_unix_ns(absl::ToUnixNanos(now));
  life->set_state(stepper.FiringState());
  stepper.Record(AlertChange::KIND_ACKNOWLEDGED, by.by(), by.note());
  stepper.Tell(Notice::REASON_ACKNOWLEDGED, stepper.Told());
  return absl::OkStatus();
}

absl::Status UnacknowledgeAlert(const std::string& by, absl::Time now, v1::AlertLife* life, AlertStep* step) {
  if (!IsFiring(*life) || !life->has_acknowledged()) {
    return absl::FailedPreconditionError("the alert is not acknowledged");
  }
  const AlertPolicy none;
  Stepper stepper(none, now, life, step);
  life->clear_acknowledged();
  life->set_state(stepper.FiringState());
  stepper.Record(AlertChange::KIND_UNACKNOWLEDGED, by, "");
  return absl::OkStatus();
}

void NoteInHistory(v1::AlertChange::Kind kind, const std::string& by, const std::string& text, absl::Time now,
                   v1::AlertLife* life, AlertStep* step) {
  const AlertPolicy none;
  Stepper(none, now, life, step).Record(kind, by, text);
}

bool MayReopen(const v1::AlertLife& life, const AlertPolicy& policy, absl::Time now) {
  return IsResolved(life) && now - absl::FromUnixNanos(life.resolved_unix_ns()) <= policy.reopen_within;
}

}  // namespace fleetmark::collector
