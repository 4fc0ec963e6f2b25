#include "collector/alert/alert_engine.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "collector/alert/alert_book.h"
#include "collector/alert/alert_pass.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

using AlertPtr = AlertBook::AlertPtr;
using RoutesPtr = std::shared_ptr<const std::vector<AlertRoute>>;

constexpr absl::Duration kDropInterval = absl::Hours(1);
constexpr size_t kDroppedAtOnce = 1000;
constexpr std::array kStates = {v1::AlertLife::STATE_PENDING, v1::AlertLife::STATE_FIRING,
                                v1::AlertLife::STATE_ACKNOWLEDGED, v1::AlertLife::STATE_SILENCED};

AlertBook::Options BookOptions(const AlertEngine::Options& options) {
  AlertBook::Options out;
  out.tables = &options.store->alerts();
  out.metrics = options.metrics;
  out.receivers = options.receivers;
  out.on_notices = options.on_notices;
  out.max_waiting = options.max_waiting;
  out.max_dead = options.max_dead;
  return out;
}

AlertPass::Options PassOptions(const AlertEngine::Options& options, AlertBook* book) {
  return {options.store,         book,          options.policy,
          options.repeat_silent, options.links, options.max_open_findings};
}

}  // namespace

class AlertEngine::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        clock_(*options_.clock),
        errors_(
            options_.metrics->AddCounter("fleetmark_alert_errors_total",
                                         "Looks at the findings for alerts that failed and are repeated.")),
        routes_(std::make_shared<std::vector<AlertRoute>>(options_.routes)),
        book_(BookOptions(options_)),
        pass_(PassOptions(options_, &book_)),
        thread_(clock_, options_.interval, [this] { RunPass(); }) {
    for (const v1::AlertLife::State state : kStates) {
      std::string name = v1::AlertLife::State_Name(state).substr(sizeof("STATE_") - 1);
      for (char& c : name) c = absl::ascii_tolower(static_cast<unsigned char>(c));
      gauges_[state] = &options_.metrics->AddGauge("fleetmark_alerts", "Alerts by state.", {{"state", name}});
    }
    options_.metrics->OnScrape([this] { SetGauges(); });
  }

  absl::Status Load();
  absl::Status Pass();
  absl::StatusOr<v1::Alert> Acknowledge(const v1::AckAlertRequest& request);
  absl::StatusOr<v1::AddSilenceResponse> AddSilence(v1::Silence silence);
  absl::Status EndSilence(const v1::EndSilenceRequest& request);
  absl::Status Finish(const StoredNotice& stored, bool delivered, const std::string& text);

  const AlertBook& book() const { return book_; }
  PeriodicThread& thread() { return thread_; }
  absl::Status SetRoutes(std::vector<AlertRoute> routes);
  RoutesPtr routes() const {
    MutexLock lock(routes_mu_);
    return routes_;
  }

 private:
  void RunPass() {
    if (const absl::Status status = Pass(); !status.ok()) {
      errors_.Add();
      LogError("can't make alerts of findings; tried again", {{"error", status}});
    }
  }
  absl::Status DropOld(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_);
  void SetGauges() {
    std::map<v1::AlertLife::State, double> counts;
    for (const AlertPtr& alert : book_.Current()) counts[alert->life().state()] += 1;
    for (const auto& [state, gauge] : gauges_) gauge->Set(counts[state]);
  }

  const Options options_;
  Clock& clock_;
  Counter& errors_;
  std::map<v1::AlertLife::State, Gauge*> gauges_;

  Mutex turn_;  // of those who write, for the time of the write too
  mutable Mutex routes_mu_ ABSL_ACQUIRED_AFTER(turn_);
  RoutesPtr routes_ ABSL_GUARDED_BY(routes_mu_);
  AlertBook book_;  // its const methods need no turn
  AlertPass pass_ ABSL_GUARDED_BY(turn_);
  absl::Time dropped_ ABSL_GUARDED_BY(turn_) = absl::InfinitePast();
  PeriodicThread thread_;
};

absl::Status AlertEngine::Impl::Load() {
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  return book_.Load([&](const v1::Alert& alert) {
    return !IsResolved(alert.life()) || MayReopen(alert.life(), options_.policy, now);
  });
}

absl::Status AlertEngine::Impl::Pass() {
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  FM_RETURN_IF_ERROR(pass_.Run(*routes(), now));
  return DropOld(now);
}

absl::Status AlertEngine::Impl::DropOld(absl::Time now) {
  if (now >= dropped_ && now - dropped_ < kDropInterval) return absl::OkStatus();
  dropped_ = now;
  const int64_t before = absl::ToUnixNanos(now - options_.keep_resolved);
  return options_.store->alerts().DropResolvedBefore(before, kDroppedAtOnce).status();
}

absl::Status AlertEngine::Impl::SetRoutes(std::vector<AlertRoute> routes) {
  for (const AlertRoute& route : routes) {
    for (const std::vector<std::string>* names : {&route.receivers, &route.escalate_to}) {
      for (const std::string& name : *names) {
        if (book_.HasReceiver(name)) continue;
        return absl::InvalidArgumentError(absl::StrCat("alerts.routes: ", route.name, ": receiver '", name,
                                                       "' is new; the collector must be restarted for it"));
      }
    }
  }
  {
    MutexLock lock(routes_mu_);
    routes_ = std::make_shared<std::vector<AlertRoute>>(std::move(routes));
  }
  thread_.Notify();
  return absl::OkStatus();
}

absl::StatusOr<v1::Alert> AlertEngine::Impl::Acknowledge(const v1::AckAlertRequest& request) {
  MutexLock turn(turn_);
  FM_ASSIGN_OR_RETURN(v1::Alert alert, book_.Find(request.alert_id()));
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
  AlertBook::Batch batch;
  book_.AddStep(alert, step, now, &batch);
  FM_RETURN_IF_ERROR(book_.Commit(&batch));
  return alert;
}

absl::StatusOr<v1::AddSilenceResponse> AlertEngine::Impl::AddSilence(v1::Silence silence) {
  FM_RETURN_IF_ERROR(CheckSilence(silence));
  MutexLock turn(turn_);
  const absl::Time now = clock_.Now();
  silence.set_silence_id(NewUlid(now));
  silence.set_made_unix_ns(absl::ToUnixNanos(now));
  FM_RETURN_IF_ERROR(book_.PutSilence(silence));
  v1::AddSilenceResponse response;
  for (const AlertPtr& alert : book_.Current()) {
    if (IsResolved(alert->life())) continue;
    const std::map<std::string, std::string> labels(alert->labels().begin(), alert->labels().end());
    if (MatchesLabels({silence.match().begin(), silence.match().end()}, labels))
      *response.add_muted() = *alert;
  }
  *response.mutable_silence() = std::move(silence);
  thread_.Notify();
  return response;
}

absl::Status AlertEngine::Impl::EndSilence(const v1::EndSilenceRequest& request) {
  MutexLock turn(turn_);
  std::vector<v1::Silence> silences = book_.Silences();
  const auto it = std::find_if(silences.begin(), silences.end(), [&](const v1::Silence& silence) {
    return silence.silence_id() == request.silence_id();
  });
  if (it == silences.end()) return absl::NotFoundError(absl::StrCat("silence ", request.silence_id()));
  if (it->ended_unix_ns() != 0) return absl::FailedPreconditionError("the silence was ended already");
  it->set_ended_by(request.by());
  it->set_ended_unix_ns(absl::ToUnixNanos(clock_.Now()));
  FM_RETURN_IF_ERROR(book_.PutSilence(*it));
  thread_.Notify();
  return absl::OkStatus();
}

absl::Status AlertEngine::Impl::Finish(const StoredNotice& stored, bool delivered, const std::string& text) {
  MutexLock turn(turn_);
  AlertBook::Batch batch;
  absl::StatusOr<v1::Alert> alert = book_.Find(stored.key.alert_id);
  if (alert.ok()) {
    AlertStep step;
    NoteInHistory(delivered ? v1::AlertChange::KIND_DELIVERED : v1::AlertChange::KIND_DEAD, "collector",
                  absl::StrCat(stored.key.receiver, ": ", text), clock_.Now(), alert->mutable_life(), &step);
    book_.AddStep(*std::move(alert), step, clock_.Now(), &batch);
  }
  if (delivered) {
    batch.write.sent.push_back(stored.key);
  } else {
    StoredNotice dead = stored;
    dead.notice.set_last_error(text);
    book_.AddDead(std::move(dead), &batch);
  }
  FM_RETURN_IF_ERROR(book_.Commit(&batch));
  book_.TookOut(stored.key.receiver);
  return absl::OkStatus();
}

AlertEngine::AlertEngine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
AlertEngine::~AlertEngine() { Stop(); }

absl::Status AlertEngine::Load() { return Annotate(impl_->Load(), "reading the alerts"); }
void AlertEngine::Start() { impl_->thread().Start(PeriodicThread::First::kAfterInterval); }
void AlertEngine::Stop() { impl_->thread().Stop(); }
void AlertEngine::Notify() { impl_->thread().Notify(); }
absl::Status AlertEngine::RunOnce() { return impl_->Pass(); }
std::vector<AlertPtr> AlertEngine::Current() const { return impl_->book().Current(); }
absl::StatusOr<v1::Alert> AlertEngine::Find(const std::string& id) const { return impl_->book().Find(id); }
absl::StatusOr<v1::Alert> AlertEngine::Acknowledge(const v1::AckAlertRequest& request) {
  return impl_->Acknowledge(request);
}
absl::StatusOr<v1::AddSilenceResponse> AlertEngine::AddSilence(v1::Silence silence) {
  return impl_->AddSilence(std::move(silence));
}
absl::Status AlertEngine::EndSilence(const v1::EndSilenceRequest& request) {
  return impl_->EndSilence(request);
}
std::vector<v1::Silence> AlertEngine::Silences() const { return impl_->book().Silences(); }
absl::Status AlertEngine::Finish(const StoredNotice& stored, bool delivered, const std::string& text) {
  return impl_->Finish(stored, delivered, text);
}
std::vector<AlertPtr> AlertEngine::ToldTo(const std::string& receiver) const {
  std::vector<AlertPtr> out;
  for (AlertPtr& alert : Current()) {
    const auto& told = alert->life().told();
    if (IsFiring(alert->life()) && std::find(told.begin(), told.end(), receiver) != told.end()) {
      out.push_back(std::move(alert));
    }
  }
  return out;
}
size_t AlertEngine::DeadOf(const std::string& receiver) const { return impl_->book().DeadOf(receiver); }
absl::Status AlertEngine::SetRoutes(std::vector<AlertRoute> routes) {
  return impl_->SetRoutes(std::move(routes));
}
RoutesPtr AlertEngine::routes() const { return impl_->routes(); }

}  // namespace fleetmark::collector
