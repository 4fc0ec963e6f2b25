#include "collector/action/action_engine.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/action/action_book.h"
#include "collector/action/action_decider.h"
#include "collector/action/action_tender.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

using v1::Action;

constexpr absl::Duration kDropInterval = absl::Hours(1);

}  // namespace

class ActionEngine::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        book_(*options_.book),
        clock_(*options_.clock),
        errors_(
            options_.metrics->AddCounter("fleetmark_action_errors_total",
                                         "Looks at the alerts for actions that failed and are repeated.")),
        active_(options_.metrics->AddGauge("fleetmark_actions_active", "Actions that are not over.")),
        held_back_gauge_(options_.metrics->AddGauge("fleetmark_actions_held_back",
                                                    "Actions that caps, evidence or people hold back.")),
        tender_(options_, [this] { return MayGoOn(); }),
        decider_(options_, tender_, [this] { return MayGoOn(); }),
        thread_(clock_, options_.interval, [this] { PassOrTell(); }) {}

  absl::Status Pass();
  void PassOrTell();
  absl::Status Wanted(const std::string& id, const std::string& by);

  const Options options_;
  ActionBook& book_;
  Clock& clock_;
  mutable Mutex mu_;
  std::vector<v1::ActionHeldBack> held_back_ ABSL_GUARDED_BY(mu_);
  std::string trouble_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> wanted_ ABSL_GUARDED_BY(mu_);  // to be taken back: by whom

 private:
  bool MayGoOn() const { return options_.enabled && !book_.Switch().stopped() && !thread_.stopping(); }
  absl::Status TakeBackWanted();
  absl::Status TendAndDecide(absl::Time now);

  Counter& errors_;
  Gauge& active_;
  Gauge& held_back_gauge_;
  ActionTender tender_;
  ActionDecider decider_;
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

absl::Status ActionEngine::Impl::TakeBackWanted() {
  std::map<std::string, std::string> wanted;
  {
    MutexLock lock(mu_);
    wanted.swap(wanted_);
  }
  for (const auto& [id, by] : wanted) {
    FM_ASSIGN_OR_RETURN(Action action, book_.Find(id));
    if (IsActive(action)) FM_RETURN_IF_ERROR(tender_.TakeBack(std::move(action), by));
  }
  return absl::OkStatus();
}

absl::Status ActionEngine::Impl::TendAndDecide(absl::Time now) {
  const std::vector<AlertPtr> alerts = options_.alerts();
  FM_RETURN_IF_ERROR(TakeBackWanted());
  FM_RETURN_IF_ERROR(tender_.TendAll(alerts, now));
  return MayGoOn() ? decider_.Decide(alerts, now) : absl::OkStatus();
}

absl::Status ActionEngine::Impl::Pass() {
  const absl::Time now = clock_.Now();
  decider_.ClearHeldBack();
  const absl::Status status = MayGoOn() ? TendAndDecide(now) : absl::OkStatus();
  active_.Set(static_cast<double>(book_.Active().size()));
  held_back_gauge_.Set(static_cast<double>(decider_.held_back().size()));
  {
    MutexLock lock(mu_);
    held_back_ = decider_.held_back();
    trouble_ = Message(status);
  }
  if (!status.ok() || (now >= dropped_ && now - dropped_ < kDropInterval)) return status;
  dropped_ = now;
  return book_.DropEndedBefore(now - options_.keep_ended);
}

absl::Status ActionEngine::Impl::Wanted(const std::string& id, const std::string& by) {
  FM_ASSIGN_OR_RETURN(const Action action, book_.Find(id));
  if (!IsActive(action)) return absl::FailedPreconditionError("the action is over");
  if (!options_.enabled)
    return absl::FailedPreconditionError("actions.enabled is false: nothing is taken back either");
  if (book_.Switch().stopped()) {
    return absl::FailedPreconditionError("actions are stopped; they must go on before one is taken back");
  }
  if (options_.dry_run && !action.dry_run()) {
    return absl::FailedPreconditionError("actions.dry_run is true: nothing real is touched");
  }
  MutexLock lock(mu_);
  wanted_[action.action_id()] = by;
  return absl::OkStatus();
}

ActionEngine::ActionEngine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ActionEngine::~ActionEngine() { Stop(); }

void ActionEngine::Start() { impl_->thread_.Start(); }
void ActionEngine::Stop() { impl_->thread_.Stop(); }
absl::Status ActionEngine::RunOnce() { return impl_->Pass(); }
absl::Status ActionEngine::TakeBack(const std::string& id, const std::string& by) {
  FM_RETURN_IF_ERROR(impl_->Wanted(id, by));
  impl_->thread_.Notify();
  return absl::OkStatus();
}
bool ActionEngine::enabled() const { return impl_->options_.enabled; }
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
