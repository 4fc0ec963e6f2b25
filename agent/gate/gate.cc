#include "agent/gate/gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/config/quantities.h"

namespace fleetmark::agent {

Gate::Gate(const Options& options, std::vector<std::unique_ptr<GateSource>> sources, Clock& clock)
    : options_(options), sources_(std::move(sources)), clock_(clock), cool_until_(clock.Mono()) {
  for (const auto& source : sources_) states_.push_back({std::string(source->name()), std::nullopt, 0});
  if (!sources_.empty()) thread_ = std::thread([this] { Loop(); });
}

Gate::~Gate() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

GateAnswer Gate::BeforeRun(const GateQuery& query) {
  {
    MutexLock lock(mu_);
    const absl::Duration cooling = cool_until_ - clock_.Mono();
    if (cooling > absl::ZeroDuration()) {
      GateAnswer answer = GateAnswer::Busy("the node cools down after the last run");
      answer.by = kCoolDown;
      answer.retry_after = cooling;
      return answer;
    }
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    GateAnswer answer = sources_[i]->BeforeRun(query);
    Note(i, answer);
    if (answer.free()) continue;
    answer.by = std::string(sources_[i]->name());
    answer.reason = absl::StrCat(answer.by, ": ", answer.reason);
    return answer;
  }
  return GateAnswer::Free();
}

void Gate::Note(size_t source, const GateAnswer& answer) {
  MutexLock lock(states_mu_);
  states_[source].last = answer.state;
}

std::vector<Gate::SourceState> Gate::source_states() const {
  MutexLock lock(states_mu_);
  return states_;
}

void Gate::Loop() {
  MutexLock lock(mu_);
  while (!stopping_) {
    if (watches_.empty()) {
      changed_.Wait(mu_);
      continue;
    }
    for (Watch* watch : std::vector<Watch*>(watches_.begin(), watches_.end())) {
      // It may have gone while another one was looked at.
      if (std::find(watches_.begin(), watches_.end(), watch) == watches_.end()) continue;
      looking_at_ = watch;
      mu_.Unlock();
      Look(*watch);
      mu_.Lock();
      looking_at_ = nullptr;
      changed_.NotifyAll();
    }
    const MonoTime next = clock_.Mono() + options_.watch_interval;
    while (!stopping_ && clock_.Mono() < next) clock_.WaitUntil(changed_, mu_, next);
  }
}

void Gate::Look(Watch& watch) {
  const pid_t reaper = watch.reaper_;
  if (reaper == 0 || watch.cancel_.cancelled()) return;
  bool unknown = false;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const GateAnswer answer = sources_[i]->DuringRun(watch.query_, reaper);
    Note(i, answer);
    if (answer.free()) continue;
    const MonoTime now = clock_.Mono();
    const bool busy = answer.state == GateAnswer::State::kBusy;
    if (!busy) {
      unknown = true;
      watch.unknown_since_ = std::min(watch.unknown_since_, now);
    }
    if (!busy && now - watch.unknown_since_ < options_.unknown_patience) continue;
    return End(watch, i, answer.reason);
  }
  if (!unknown) watch.unknown_since_ = MonoTime::InfiniteFuture();
}

void Gate::End(Watch& watch, size_t source, const std::string& why) {
  watch.cancel_.Cancel(absl::StrCat(std::string(sources_[source]->name()), ": ", why), CancelCause::kGate);
  MutexLock lock(states_mu_);
  ++states_[source].runs_ended;
}

Gate::Watch::Watch(Gate& gate, GateQuery query, CancelToken& cancel)
    : gate_(gate), query_(std::move(query)), cancel_(cancel) {
  MutexLock lock(gate_.mu_);
  gate_.watches_.push_back(this);
  gate_.changed_.NotifyAll();
}

Gate::Watch::~Watch() {
  MutexLock lock(gate_.mu_);
  gate_.watches_.remove(this);
  while (gate_.looking_at_ == this) gate_.changed_.Wait(gate_.mu_);
  gate_.cool_until_ = std::max(gate_.cool_until_, gate_.clock_.Mono() + gate_.options_.cool_down);
}

void Gate::Watch::Began(pid_t reaper) { reaper_ = reaper; }

}  // namespace fleetmark::agent
