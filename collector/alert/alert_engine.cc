#include "collector/alert/alert_engine.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_matching.h"
#include "collector/alert/inhibition.h"
#include "collector/fleet/node_class.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/message_bytes.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

using AlertPtr = std::shared_ptr<const v1::Alert>;

constexpr size_t kAlertsAtOnce = 500;  // of one write
constexpr size_t kRecentSamples = 60;
constexpr size_t kLeastIdCharacters = 4;
constexpr absl::Duration kDropInterval = absl::Hours(1);
constexpr size_t kDroppedAtOnce = 1000;

}  // namespace

class AlertEngine::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        store_(*options_.store),
        tables_(store_.alerts()),
        clock_(*options_.clock),
        errors_(
            options_.metrics->AddCounter("fleetmark_alert_errors_total",
                                         "Looks at the findings for alerts that failed and are repeated.")),
        made_(options_.metrics->AddCounter("fleetmark_alert_notices_total", "Notices that were made.")),
        dead_(options_.metrics->AddCounter(
            "fleetmark_alert_notices_dead_total",
            "Notices that were given up: refused, too old, or the queue was full.")) {
    for (const v1::AlertLife::State state : kStates) {
      std::string name = v1::AlertLife::State_Name(state).substr(sizeof("STATE_") - 1);
      for (char& c : name) c = absl::ascii_tolower(static_cast<unsigned char>(c));
      gauges_[state] = &options_.metrics->AddGauge("fleetmark_alerts", "Alerts by state.", {{"state", name}});
    }
    options_.metrics->OnScrape([this] { SetGauges(); });
  }

  absl::Status Load();
  void Loop();
  absl::Status Pass();

  std::vector<AlertPtr> Current() const {
    std::vector<AlertPtr> out;
    MutexLock lock(mu_);
    for (auto it = alerts_.rbegin(); it != alerts_.rend(); ++it) out.push_back(it->second);
    return out;
  }

  absl::StatusOr<v1::Alert> Find(const std::string& id) const;
  absl::StatusOr<v1::Alert> Acknowledge(const v1::AckAlertRequest& request);
  absl::StatusOr<v1::AddSilenceResponse> AddSilence(v1::Silence silence);
  absl::Status EndSilence(const v1::EndSilenceRequest& request);
  absl::Status Finish(const StoredNotice& stored, bool delivered, const std::string& text);

  std::vector<v1::Silence> Silences() const {
    MutexLock lock(mu_);
    return {silences_.rbegin(), silences_.rend()};
  }
  size_t DeadOf(const std::string& receiver) const {
    MutexLock lock(mu_);
    const auto it = dead_keys_.find(receiver);
    return it == dead_keys_.end() ? 0 : it->second.size();
  }

  const Options options_;
  mutable Mutex mu_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool poked_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;

 private:
  static constexpr std::array kStates = {v1::AlertLife::STATE_PENDING, v1::AlertLife::STATE_FIRING,
                                         v1::AlertLife::STATE_ACKNOWLEDGED, v1::AlertLife::STATE_SILENCED};

  // Changes that are written together and then become what readers see.
  struct Batch {
    AlertWrite write;
    std::map<std::string, size_t> queued;  // notices by receiver
  };

  absl::Status Refresh(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  Inhibition MakeInhibition() ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  absl::Status StepOne(const std::string& id, const AlertPtr& known, absl::Time now, Inhibition* inhibition,
                       Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  AlertCondition FullCondition(const v1::Alert& alert, const AlertView& view, absl::Time now,
                               Inhibition* inhibition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  void AddStep(v1::Alert alert, const AlertStep& step, absl::Time now, Batch* batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  void AddDead(StoredNotice stored, Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  absl::Status Commit(Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  absl::Status DropOld(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);

  std::map<std::string, AlertPtr> Known() const {
    MutexLock lock(mu_);
    return alerts_;
  }
  std::map<std::string, std::string> NodeLabels(const std::set<std::string>& nodes) const;
  void FillRecent(v1::Alert* alert) const;
  AlertPolicy PolicyOf(const v1::Alert& alert) const {
    AlertPolicy policy = options_.policy;
    if (alert.class_() == v1::ALERT_CLASS_SILENT) policy.repeat = options_.repeat_silent;
    return policy;
  }
  bool HasReceiver(const std::string& name) const {
    return std::find(options_.receivers.begin(), options_.receivers.end(), name) != options_.receivers.end();
  }
  void SetGauges() {
    std::map<v1::AlertLife::State, double> counts;
    for (const AlertPtr& alert : Current()) counts[alert->life().state()] += 1;
    for (const auto& [state, gauge] : gauges_) gauge->Set(counts[state]);
  }

  Store& store_;
  AlertTables& tables_;
  Clock& clock_;
  Counter& errors_;
  Counter& made_;
  Counter& dead_;
  std::map<v1::AlertLife::State, Gauge*> gauges_;

  Mutex turn_ ABSL_ACQUIRED_BEFORE(mu_);
  std::vector<v1::Finding> findings_ ABSL_GUARDED_BY(turn_);  // open
  FindingsByAlert views_ ABSL_GUARDED_BY(turn_);              // point into findings_
  uint64_t seen_version_ ABSL_GUARDED_BY(turn_) = 0;
  bool refill_ ABSL_GUARDED_BY(turn_) = false;  // the findings are news to the alerts
  absl::Time dropped_ ABSL_GUARDED_BY(turn_) = absl::InfinitePast();
  std::map<std::string, size_t> waiting_ ABSL_GUARDED_BY(turn_);  // notices in the queue, by receiver

  std::map<std::string, AlertPtr> alerts_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Silence> silences_ ABSL_GUARDED_BY(mu_);  // oldest first
  std::map<std::string, std::deque<NoticeKey>> dead_keys_ ABSL_GUARDED_BY(mu_);
};

absl::Status AlertEngine::Impl::Load() {
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  std::map<std::string, AlertPtr> alerts;
  FM_RETURN_IF_ERROR(tables_.ScanAlerts("", [&](const v1::Alert& alert) {
    if (!IsResolved(alert.life()) || MayReopen(alert.life(), options_.policy, now)) {
      alerts.emplace(alert.alert_id(), std::make_shared<v1::Alert>(alert));
    }
    return true;
  }));
  FM_ASSIGN_OR_RETURN(std::vector<v1::Silence> silences, tables_.Silences());
  FM_ASSIGN_OR_RETURN(const std::vector<StoredNotice> dead, tables_.Dead());
  {
    MutexLock lock(mu_);
    alerts_ = std::move(alerts);
    silences_ = std::move(silences);
    for (const StoredNotice& stored : dead) dead_keys_[stored.key.receiver].push_back(stored.key);
  }
  FM_ASSIGN_OR_RETURN(std::vector<StoredNotice> queue, tables_.Queue());
  std::vector<StoredNotice> wait;
  Batch batch;
  for (StoredNotice& stored : queue) {
    ++waiting_[stored.key.receiver];
    if (HasReceiver(stored.key.receiver)) {
      wait.push_back(std::move(stored));
    } else {
      stored.notice.set_last_error("the receiver is not configured any more");
      AddDead(std::move(stored), &batch);
    }
  }
  FM_RETURN_IF_ERROR(Commit(&batch));
  if (options_.on_notices && !wait.empty()) options_.on_notices(std::move(wait));
  return absl::OkStatus();
}

void AlertEngine::Impl::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      const MonoTime deadline = clock_.Mono() + options_.interval;
      while (!stopping_ && !poked_ && clock_.WaitUntil(wake_, mu_, deadline)) {
      }
      if (stopping_) return;
      poked_ = false;
    }
    if (const absl::Status status = Pass(); !status.ok()) {
      errors_.Add();
      LogError("can't make alerts of findings; tried again", {{"error", status}});
    }
  }
}

absl::Status AlertEngine::Impl::Pass() {
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  FM_RETURN_IF_ERROR(Refresh(now));
  Inhibition inhibition = MakeInhibition();
  std::map<std::string, AlertPtr> known = Known();
  for (const auto& [id, view] : views_) known.emplace(id, nullptr);
  Batch batch;
  for (const auto& [id, alert] : known) {
    FM_RETURN_IF_ERROR(StepOne(id, alert, now, &inhibition, &batch));
    if (batch.write.alerts.size() >= kAlertsAtOnce) FM_RETURN_IF_ERROR(Commit(&batch));
  }
  FM_RETURN_IF_ERROR(Commit(&batch));
  refill_ = false;
  Forget(now);
  return DropOld(now);
}

absl::Status AlertEngine::Impl::Refresh(absl::Time now) {
  const uint64_t version = store_.FindingsVersion();
  if (version == seen_version_ && !refill_) return absl::OkStatus();
  refill_ = true;
  views_.clear();
  FM_ASSIGN_OR_RETURN(findings_, store_.OpenFindings(options_.max_open_findings));
  AlertMatching matching;
  for (const auto& [id, alert] : Known()) {
    matching.Know(*alert, !IsResolved(alert->life()) || MayReopen(alert->life(), options_.policy, now));
  }
  views_ = matching.Match(findings_, [now] { return NewUlid(now); });
  seen_version_ = version;
  return absl::OkStatus();
}

// Only what fires already tells of others.
Inhibition AlertEngine::Impl::MakeInhibition() {
  Inhibition inhibition([this](const std::string& node) {
    const absl::StatusOr<v1::Node> known = store_.GetNode(node);
    return known.ok() ? NodeAttributes(*known) : std::map<std::string, std::string>();
  });
  for (const auto& [id, alert] : Known()) {
    const auto view = views_.find(id);
    if (view != views_.end() && IsFiring(alert->life())) inhibition.AddSource({alert.get(), view->second});
  }
  return inhibition;
}

std::map<std::string, std::string> AlertEngine::Impl::NodeLabels(const std::set<std::string>& nodes) const {
  if (nodes.size() != 1) return {};
  const absl::StatusOr<v1::Node> node = store_.GetNode(*nodes.begin());
  if (!node.ok()) return {};
  return {node->identity().labels().begin(), node->identity().labels().end()};
}

void AlertEngine::Impl::FillRecent(v1::Alert* alert) const {
  uint64_t series = alert->main().series_id();
  if (series == 0 && alert->main().members_size() > 0) series = alert->main().members(0).series_id();
  if (series == 0) return;
  const absl::StatusOr<std::vector<v1::Sample>> samples =
      store_.LastSamples(series, INT64_MAX, kRecentSamples);
  if (!samples.ok()) return;  // the message does without its course
  alert->clear_recent();
  for (const v1::Sample& sample : *samples) alert->add_recent(sample.value());
}

AlertCondition AlertEngine::Impl::FullCondition(const v1::Alert& alert, const AlertView& view, absl::Time now,
                                                Inhibition* inhibition) {
  std::string closed;
  if (view.findings.empty()) {
    const absl::StatusOr<v1::Finding> main = store_.GetFinding(alert.main().finding_id());
    if (main.ok() && main->state() == v1::Finding::STATE_CLOSED) closed = main->explanation();
  }
  AlertCondition condition = ConditionOf(view.findings, alert, closed);
  if (condition.kind == AlertCondition::kClear) return condition;
  const std::map<std::string, std::string> labels(alert.labels().begin(), alert.labels().end());
  condition.mutes = inhibition->MutesOf(view);
  {
    MutexLock lock(mu_);
    for (const v1::Silence& silence : silences_) {
      if (!SilenceHolds(silence, now)) continue;
      if (!MatchesLabels({silence.match().begin(), silence.match().end()}, labels)) continue;
      v1::AlertMute& mute = condition.mutes.emplace_back();
      mute.set_kind(silence.maintenance() ? v1::AlertMute::KIND_MAINTENANCE : v1::AlertMute::KIND_SILENCE);
      mute.set_by(silence.silence_id());
      mute.set_text(absl::StrCat(silence.maintenance() ? "maintenance, " : "silenced by ", silence.by(), ": ",
                                 silence.note()));
    }
  }
  RoutedAlert routed = RouteAlert(options_.routes, labels, now);
  condition.receivers = std::move(routed.receivers);
  condition.escalate_after = routed.escalate_after;
  condition.escalate_to = std::move(routed.escalate_to);
  return condition;
}

absl::Status AlertEngine::Impl::StepOne(const std::string& id, const AlertPtr& known, absl::Time now,
                                        Inhibition* inhibition, Batch* batch) {
  const auto it = views_.find(id);
  AlertView view;
  if (it != views_.end()) view.findings = it->second;
  if (view.findings.empty() && (known == nullptr || IsResolved(known->life()))) return absl::OkStatus();
  v1::Alert next;
  if (known != nullptr) next = *known;
  next.set_alert_id(id);
  if (refill_) {
    if (view.findings.empty()) {
      CloseFindings(view.findings, &next);
    } else {
      std::set<std::string> nodes;
      for (const v1::Finding* finding : view.findings) nodes.merge(NodesOf(*finding));
      FillAlert(view.findings, NodeLabels(nodes), options_.links, &next);
    }
  }
  view.alert = &next;
  const AlertCondition condition = FullCondition(next, view, now, inhibition);
  const bool begins = next.life().state() == v1::AlertLife::STATE_UNSPECIFIED;
  if (begins && condition.kind == AlertCondition::kClear) return absl::OkStatus();
  const AlertStep step = StepAlert(condition, PolicyOf(next), now, next.mutable_life());
  if (!step.notices.empty()) FillRecent(&next);
  const bool changed =
      known == nullptr || !step.changes.empty() || DeterministicBytes(next) != DeterministicBytes(*known);
  if (changed) AddStep(std::move(next), step, now, batch);
  return absl::OkStatus();
}

void AlertEngine::Impl::AddStep(v1::Alert alert, const AlertStep& step, absl::Time now, Batch* batch) {
  for (const v1::AlertChange& change : step.changes) {
    batch->write.changes.push_back({alert.alert_id(), change});
    LogInfo("alert changed", {{"alert", alert.alert_id()},
                              {"change", v1::AlertChange::Kind_Name(change.kind())},
                              {"title", alert.title()},
                              {"text", change.text()}});
  }
  for (const DueNotice& due : step.notices) {
    for (const std::string& receiver : due.receivers) {
      if (!HasReceiver(receiver)) continue;  // it was removed from the configuration
      StoredNotice stored;
      stored.key = {receiver, alert.alert_id(), due.number};
      stored.notice.set_notice_id(absl::StrCat(alert.alert_id(), "-", due.number));
      stored.notice.set_receiver(receiver);
      stored.notice.set_reason(due.reason);
      stored.notice.set_made_unix_ns(absl::ToUnixNanos(now));
      *stored.notice.mutable_alert() = alert;
      if (waiting_[receiver] + batch->queued[receiver] >= options_.max_waiting) {
        stored.notice.set_last_error("the receiver's queue is full");
        AddDead(std::move(stored), batch);
        continue;
      }
      ++batch->queued[receiver];
      batch->write.queued.push_back(std::move(stored));
    }
  }
  batch->write.alerts.push_back(std::move(alert));
}

// The oldest that were given up make room.
void AlertEngine::Impl::AddDead(StoredNotice stored, Batch* batch) {
  LogError("a notice was given up", {{"receiver", stored.key.receiver},
                                     {"alert", stored.key.alert_id},
                                     {"error", stored.notice.last_error()}});
  MutexLock lock(mu_);
  const auto keys = dead_keys_.find(stored.key.receiver);
  size_t kept = keys == dead_keys_.end() ? 0 : keys->second.size();
  for (const StoredNotice& other : batch->write.dead)
    kept += other.key.receiver == stored.key.receiver ? 1 : 0;
  if (kept >= options_.max_dead && keys != dead_keys_.end() && !keys->second.empty()) {
    batch->write.buried.push_back(keys->second.front());
    keys->second.pop_front();
  }
  batch->write.dead.push_back(std::move(stored));
}

absl::Status AlertEngine::Impl::Commit(Batch* batch) {
  AlertWrite& write = batch->write;
  if (write.alerts.empty() && write.queued.empty() && write.sent.empty() && write.dead.empty()) {
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(tables_.Write(write));
  for (const auto& [receiver, count] : batch->queued) waiting_[receiver] += count;
  made_.Add(static_cast<double>(write.queued.size()));
  dead_.Add(static_cast<double>(write.dead.size()));
  {
    MutexLock lock(mu_);
    for (v1::Alert& alert : write.alerts) {
      std::string id = alert.alert_id();
      alerts_[std::move(id)] = std::make_shared<v1::Alert>(std::move(alert));
    }
    for (const StoredNotice& stored : write.dead) dead_keys_[stored.key.receiver].push_back(stored.key);
  }
  if (options_.on_notices && !write.queued.empty()) options_.on_notices(std::move(write.queued));
  *batch = Batch();
  return absl::OkStatus();
}

void AlertEngine::Impl::Forget(absl::Time now) {
  MutexLock lock(mu_);
  for (auto it = alerts_.begin(); it != alerts_.end();) {
    const bool done = IsResolved(it->second->life()) &&
                      !MayReopen(it->second->life(), options_.policy, now) && !views_.contains(it->first);
    it = done ? alerts_.erase(it) : std::next(it);
  }
}

absl::Status AlertEngine::Impl::DropOld(absl::Time now) {
  if (now >= dropped_ && now - dropped_ < kDropInterval) return absl::OkStatus();
  dropped_ = now;
  const int64_t before = absl::ToUnixNanos(now - options_.keep_resolved);
  return tables_.DropResolvedBefore(before, kDroppedAtOnce).status();
}

absl::StatusOr<v1::Alert> AlertEngine::Impl::Find(const std::string& id) const {
  if (IsUlid(id)) {
    {
      MutexLock lock(mu_);
      const auto it = alerts_.find(id);
      if (it != alerts_.end()) return *it->second;
    }
    return tables_.GetAlert(id);
  }
  if (id.size() < kLeastIdCharacters) {
    return absl::InvalidArgumentError("alert_id: needs the whole id, or at least its last 4 characters");
  }
  AlertPtr found;
  for (const AlertPtr& alert : Current()) {
    if (!absl::EndsWithIgnoreCase(alert->alert_id(), id)) continue;
    if (found != nullptr) return absl::InvalidArgumentError(absl::StrCat("alert_id: several end with ", id));
    found = alert;
  }
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no alert of late has the id ", id));
  return *found;
}

absl::StatusOr<v1::Alert> AlertEngine::Impl::Acknowledge(const v1::AckAlertRequest& request) {
  MutexLock turn(turn_);
  FM_ASSIGN_OR_RETURN(v1::Alert alert, Find(request.alert_id()));
  const absl::Time now = clock_.Now();
  AlertStep step;
  if (request.undo()) {
    FM_RETURN_IF_ERROR(UnacknowledgeAlert(request.by(), now, alert.mutable_life(), &step));
  } else {
    v1::Acknowledgement by;
    by.set_by(request.by());
    by.set_note(request.note());
    FM_RETURN_IF_ERROR(AcknowledgeAlert(by, now, alert.mutable_life(), &step));
  }
  Batch batch;
  AddStep(alert, step, now, &batch);
  FM_RETURN_IF_ERROR(Commit(&batch));
  return alert;
}

absl::StatusOr<v1::AddSilenceResponse> AlertEngine::Impl::AddSilence(v1::Silence silence) {
  FM_RETURN_IF_ERROR(CheckSilence(silence));
  v1::AddSilenceResponse response;
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  silence.set_silence_id(NewUlid(now));
  silence.set_made_unix_ns(absl::ToUnixNanos(now));
  AlertWrite write;
  write.silences.push_back(silence);
  FM_RETURN_IF_ERROR(tables_.Write(write));
  for (const AlertPtr& alert : Current()) {
    if (IsResolved(alert->life())) continue;
    const std::map<std::string, std::string> labels(alert->labels().begin(), alert->labels().end());
    if (MatchesLabels({silence.match().begin(), silence.match().end()}, labels))
      *response.add_muted() = *alert;
  }
  MutexLock lock(mu_);
  silences_.push_back(silence);
  *response.mutable_silence() = std::move(silence);
  poked_ = true;
  wake_.NotifyAll();
  return response;
}

absl::Status AlertEngine::Impl::EndSilence(const v1::EndSilenceRequest& request) {
  MutexLock turn(turn_);
  std::vector<v1::Silence> silences = Silences();
  const auto it = std::find_if(silences.begin(), silences.end(), [&](const v1::Silence& silence) {
    return silence.silence_id() == request.silence_id();
  });
  if (it == silences.end()) return absl::NotFoundError(absl::StrCat("silence ", request.silence_id()));
  if (it->ended_unix_ns() != 0) return absl::FailedPreconditionError("the silence was ended already");
  it->set_ended_by(request.by());
  it->set_ended_unix_ns(absl::ToUnixNanos(clock_.Now()));
  AlertWrite write;
  write.silences.push_back(*it);
  FM_RETURN_IF_ERROR(tables_.Write(write));
  MutexLock lock(mu_);
  silences_ = {silences.rbegin(), silences.rend()};
  poked_ = true;
  wake_.NotifyAll();
  return absl::OkStatus();
}

absl::Status AlertEngine::Impl::Finish(const StoredNotice& stored, bool delivered, const std::string& text) {
  MutexLock turn(turn_);
  Batch batch;
  absl::StatusOr<v1::Alert> alert = Find(stored.key.alert_id);
  if (alert.ok()) {
    AlertStep step;
    NoteInHistory(delivered ? v1::AlertChange::KIND_DELIVERED : v1::AlertChange::KIND_DEAD, "collector",
                  absl::StrCat(stored.key.receiver, ": ", text), clock_.Now(), alert->mutable_life(), &step);
    AddStep(*std::move(alert), step, clock_.Now(), &batch);
  }
  if (delivered) {
    batch.write.sent.push_back(stored.key);
  } else {
    StoredNotice dead = stored;
    dead.notice.set_last_error(text);
    AddDead(std::move(dead), &batch);
  }
  FM_RETURN_IF_ERROR(Commit(&batch));
  size_t& waiting = waiting_[stored.key.receiver];
  if (waiting > 0) --waiting;
  return absl::OkStatus();
}

AlertEngine::AlertEngine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
AlertEngine::~AlertEngine() { Stop(); }

absl::Status AlertEngine::Load() { return Annotate(impl_->Load(), "reading the alerts"); }
void AlertEngine::Start() {
  impl_->thread_ = std::thread([this] { impl_->Loop(); });
}
void AlertEngine::Stop() {
  {
    MutexLock lock(impl_->mu_);
    impl_->stopping_ = true;
    impl_->wake_.NotifyAll();
  }
  if (impl_->thread_.joinable()) impl_->thread_.join();
}
void AlertEngine::Notify() {
  MutexLock lock(impl_->mu_);
  impl_->poked_ = true;
  impl_->wake_.NotifyAll();
}
absl::Status AlertEngine::RunOnce() { return impl_->Pass(); }
std::vector<std::shared_ptr<const v1::Alert>> AlertEngine::Current() const { return impl_->Current(); }
absl::StatusOr<v1::Alert> AlertEngine::Find(const std::string& id) const { return impl_->Find(id); }
absl::StatusOr<v1::Alert> AlertEngine::Acknowledge(const v1::AckAlertRequest& request) {
  return impl_->Acknowledge(request);
}
absl::StatusOr<v1::AddSilenceResponse> AlertEngine::AddSilence(v1::Silence silence) {
  return impl_->AddSilence(std::move(silence));
}
absl::Status AlertEngine::EndSilence(const v1::EndSilenceRequest& request) {
  return impl_->EndSilence(request);
}
std::vector<v1::Silence> AlertEngine::Silences() const { return impl_->Silences(); }
absl::Status AlertEngine::Finish(const StoredNotice& stored, bool delivered, const std::string& text) {
  return impl_->Finish(stored, delivered, text);
}
std::vector<std::shared_ptr<const v1::Alert>> AlertEngine::ToldTo(const std::string& receiver) const {
  std::vector<std::shared_ptr<const v1::Alert>> out;
  for (std::shared_ptr<const v1::Alert>& alert : impl_->Current()) {
    const auto& told = alert->life().told();
    if (IsFiring(alert->life()) && std::find(told.begin(), told.end(), receiver) != told.end()) {
      out.push_back(std::move(alert));
    }
  }
  return out;
}
size_t AlertEngine::DeadOf(const std::string& receiver) const { return impl_->DeadOf(receiver); }
const std::vector<AlertRoute>& AlertEngine::routes() const { return impl_->options_.routes; }

}  // namespace fleetmark::collector
