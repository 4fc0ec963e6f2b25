#include "agent/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/config/quantities.h"

namespace fleetmark::agent {
namespace {

// Below this the wall clock is being steered, not set.
constexpr absl::Duration kWallStep = absl::Minutes(1);

absl::Time NextDue(const Scheduler::Job& job, absl::Time now) {
  return job.schedule.has_value() ? job.schedule->NextAfter(now) : absl::InfiniteFuture();
}

}  // namespace

Scheduler::Scheduler(std::vector<Job> jobs, Callbacks callbacks, Clock& clock)
    : callbacks_(std::move(callbacks)), clock_(clock), seen_wall_(clock.Now()), seen_mono_(clock.Mono()) {
  Reload(std::move(jobs));
}

Scheduler::~Scheduler() { Stop(); }

void Scheduler::Run() {
  thread_ = std::thread([this] { Loop(); });
}

void Scheduler::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Scheduler::Loop() {
  while (true) {
    Work work;
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      work = Advance();
      if (work.empty()) {
        clock_.WaitUntil(changed_, mu_, NextDeadline());
        continue;
      }
    }
    for (const auto& [request, why] : work.refusals) {
      if (callbacks_.refused) callbacks_.refused(request, why);
    }
    for (const Missed& missed : work.missed) {
      if (callbacks_.missed) callbacks_.missed(missed.benchmark, missed.due, missed.why);
    }
    for (const Start& start : work.starts) callbacks_.start(start);
  }
}

Scheduler::Work Scheduler::Advance() {
  Work work;
  FollowWallClock();
  CollectDue(work);
  Expire(work);
  std::vector<const Job*> ahead;
  StartRequests(ahead, work);
  StartScheduled(ahead, work);
  return work;
}

void Scheduler::FollowWallClock() {
  const absl::Time wall = clock_.Now();
  const MonoTime mono = clock_.Mono();
  const absl::Duration step = (wall - seen_wall_) - (mono - seen_mono_);
  seen_wall_ = wall;
  seen_mono_ = mono;
  if (absl::AbsDuration(step) < kWallStep) return;
  for (State& state : states_) state.next_due = NextDue(state.job, wall);
}

void Scheduler::CollectDue(Work& work) {
  for (State& state : states_) {
    if (state.next_due > seen_wall_) continue;
    if (!state.waiting_due.has_value()) {
      state.waiting_due = state.next_due;
      state.queued = state.next_due;
    } else if (!state.deferred_why.empty()) {
      work.missed.push_back({state.job.benchmark, *state.waiting_due, state.deferred_why});
      state.waiting_due = state.next_due;
    }
    state.next_due = NextDue(state.job, seen_wall_);
  }
}

void Scheduler::Expire(Work& work) {
  work.refusals = std::exchange(orphans_, {});
  for (auto it = requests_.begin(); it != requests_.end();) {
    if (it->expires > seen_mono_) {
      ++it;
      continue;
    }
    const State* state = Find(it->request.benchmark);
    std::string obstacle = it->deferred_why;
    if (obstacle.empty() && state != nullptr) obstacle = Obstacle(state->job, {});
    work.refusals.emplace_back(it->request,
                               absl::StrCat("not started within ", DurationText(it->request.expires_after),
                                            obstacle.empty() ? "" : ": ", obstacle));
    it = requests_.erase(it);
  }
}

void Scheduler::StartRequests(std::vector<const Job*>& ahead, Work& work) {
  for (auto it = requests_.begin(); it != requests_.end();) {
    const Job& job = Find(it->request.benchmark)->job;
    if (it->not_before > seen_mono_) {
      ++it;
      continue;
    }
    if (!Obstacle(job, ahead).empty()) {
      ahead.push_back(&job);
      ++it;
      continue;
    }
    running_[job.benchmark] = job.claims;
    work.starts.push_back({job.benchmark, it->came, it->request.trigger, it->request.request_id, it->expires,
                           it->request.expires_after, it->request.job_id, it->deferred_why});
    it = requests_.erase(it);
  }
}

void Scheduler::StartScheduled(std::vector<const Job*>& ahead, Work& work) {
  budget_ready_ = MonoTime::InfiniteFuture();
  for (State* state : InDueOrder()) {
    if (state->not_before > seen_mono_) continue;
    if (!Obstacle(state->job, ahead).empty()) {
      ahead.push_back(&state->job);
      continue;
    }
    // One that costs less must not spend what this one waits for.
    const absl::Duration wait =
        callbacks_.budget_wait ? callbacks_.budget_wait(state->job.benchmark) : absl::ZeroDuration();
    if (wait > absl::ZeroDuration()) {
      budget_ready_ = seen_mono_ + wait;
      return;
    }
    running_[state->job.benchmark] = state->job.claims;
    work.starts.push_back({state->job.benchmark,
                           *state->waiting_due,
                           v1::TRIGGER_SCHEDULE,
                           "",
                           {},
                           {},
                           "",
                           state->deferred_why});
    state->waiting_due.reset();
    state->deferred_why.clear();
    // The next one's wait is asked for after this one has been paid for, which its start does.
    if (callbacks_.budget_wait) return;
  }
}

std::vector<Scheduler::State*> Scheduler::InDueOrder() {
  std::vector<State*> waiting;
  for (State& state : states_) {
    if (state.waiting_due.has_value()) waiting.push_back(&state);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const State* a, const State* b) { return a->queued < b->queued; });
  return waiting;
}

std::string Scheduler::Obstacle(const Job& job, const std::vector<const Job*>& ahead) const {
  if (running_.count(job.benchmark) > 0) return "its last run has not ended";
  for (const auto& [benchmark, claims] : running_) {
    if (const char* resource = Conflict(job.claims, claims))
      return absl::StrCat(resource, " is used by ", benchmark);
  }
  for (const Job* other : ahead) {
    if (other->benchmark == job.benchmark) return "another run of it waits before this one";
    if (const char* resource = Conflict(job.claims, other->claims)) {
      return absl::StrCat(other->benchmark, " waits for ", resource, " before it");
    }
  }
  return "";
}

Scheduler::State* Scheduler::Find(const std::string& benchmark) {
  for (State& state : states_) {
    if (state.job.benchmark == benchmark) return &state;
  }
  return nullptr;
}

MonoTime Scheduler::NextDeadline() const {
  MonoTime next = MonoTime::InfiniteFuture();
  for (const State& state : states_) {
    if (state.next_due < absl::InfiniteFuture())
      next = std::min(next, seen_mono_ + (state.next_due - seen_wall_));
    if (state.waiting_due.has_value() && state.not_before > seen_mono_)
      next = std::min(next, state.not_before);
  }
  for (const Waiting& waiting : requests_) {
    next = std::min(next, waiting.expires);
    if (waiting.not_before > seen_mono_) next = std::min(next, waiting.not_before);
  }
  return std::min(next, budget_ready_);
}

void Scheduler::Reload(std::vector<Job> jobs) {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  std::vector<State> states;
  for (Job& job : jobs) {
    const State* old = Find(job.benchmark);
    State state;
    state.next_due = NextDue(job, now);
    if (old != nullptr) {
      const absl::Time next_due = state.next_due;
      state = *old;
      state.next_due = next_due;
      // Due by now, and the thread has not seen it yet.
      if (old->next_due <= now && !state.waiting_due.has_value()) {
        state.waiting_due = old->next_due;
        state.queued = old->next_due;
      }
    }
    state.job = std::move(job);
    states.push_back(std::move(state));
  }
  states_ = std::move(states);
  for (auto it = requests_.begin(); it != requests_.end();) {
    if (Find(it->request.benchmark) != nullptr) {
      ++it;
      continue;
    }
    orphans_.emplace_back(it->request, "the benchmark is no longer configured");
    it = requests_.erase(it);
  }
  changed_.NotifyAll();
}

absl::Status Scheduler::RunNow(const Request& request) {
  MutexLock lock(mu_);
  if (Find(request.benchmark) == nullptr) {
    return absl::NotFoundError(absl::StrCat("no benchmark '", request.benchmark, "' is configured"));
  }
  if (requests_.size() >= kMaxRequests) return absl::ResourceExhaustedError("too many requests wait already");
  for (const Waiting& waiting : requests_) {
    if (waiting.request.request_id == request.request_id) {
      return absl::AlreadyExistsError(absl::StrCat("request ", request.request_id, " waits already"));
    }
  }
  requests_.push_back({request, clock_.Now(), clock_.Mono() + request.expires_after, {}, ""});
  changed_.NotifyAll();
  return absl::OkStatus();
}

bool Scheduler::CancelRequest(const std::string& request_id) {
  MutexLock lock(mu_);
  const auto it = std::find_if(requests_.begin(), requests_.end(), [&](const Waiting& waiting) {
    return waiting.request.request_id == request_id;
  });
  if (it == requests_.end()) return false;
  requests_.erase(it);
  changed_.NotifyAll();  // it may have been what others waited behind
  return true;
}

void Scheduler::Deferred(const Start& start, const std::string& why, absl::Duration retry_after) {
  MutexLock lock(mu_);
  running_.erase(start.benchmark);
  changed_.NotifyAll();
  State* state = Find(start.benchmark);
  if (state == nullptr) {
    if (!start.request_id.empty()) {
      orphans_.emplace_back(Request{start.request_id, start.benchmark, start.trigger, {}, ""},
                            "the benchmark is no longer configured");
    }
    return;
  }
  const MonoTime not_before = clock_.Mono() + retry_after;
  if (!start.request_id.empty()) {
    Request request{start.request_id, start.benchmark, start.trigger, start.expires_after, start.job_id};
    requests_.push_front({std::move(request), start.due, start.expires, not_before, why});
    return;
  }
  // Its next time may have come while it was being tried: that one is the run that waits.
  if (!state->waiting_due.has_value()) {
    state->waiting_due = start.due;
    state->queued = start.due;
  }
  state->not_before = not_before;
  state->deferred_why = why;
}

void Scheduler::Finished(const std::string& benchmark) {
  MutexLock lock(mu_);
  running_.erase(benchmark);
  changed_.NotifyAll();
}

std::vector<Scheduler::Plan> Scheduler::Snapshot() const {
  MutexLock lock(mu_);
  std::vector<Plan> plans;
  for (const State& state : states_) {
    Plan plan;
    plan.benchmark = state.job.benchmark;
    plan.next_due = state.next_due;
    plan.running = running_.count(plan.benchmark) > 0;
    if (state.waiting_due.has_value()) {
      plan.waits_for = state.deferred_why;
      if (plan.waits_for.empty()) plan.waits_for = Obstacle(state.job, {});
      if (plan.waits_for.empty() && budget_ready_ < MonoTime::InfiniteFuture()) {
        plan.waits_for =
            absl::StrCat("the benchmark-time budget, for ",
                         DurationText(absl::Ceil(std::max(absl::Seconds(1), budget_ready_ - clock_.Mono()),
                                                 absl::Seconds(1))));
      }
      if (plan.waits_for.empty()) plan.waits_for = "others wait before it";
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace fleetmark::agent
