#include "agent/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

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
    for (const Start& start : work.starts) callbacks_.start(start);
  }
}

Scheduler::Work Scheduler::Advance() {
  Work work;
  FollowWallClock();
  CollectDue();
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

void Scheduler::CollectDue() {
  for (State& state : states_) {
    if (state.next_due > seen_wall_) continue;
    if (!state.waiting_since.has_value()) state.waiting_since = state.next_due;
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
    const std::string obstacle = state == nullptr ? "" : Obstacle(state->job, {});
    work.refusals.emplace_back(
        it->request, absl::StrCat("not started within ", absl::FormatDuration(it->request.expires_after),
                                  obstacle.empty() ? "" : ": ", obstacle));
    it = requests_.erase(it);
  }
}

void Scheduler::StartRequests(std::vector<const Job*>& ahead, Work& work) {
  for (auto it = requests_.begin(); it != requests_.end();) {
    const Job& job = Find(it->request.benchmark)->job;
    if (!Obstacle(job, ahead).empty()) {
      ahead.push_back(&job);
      ++it;
      continue;
    }
    running_[job.benchmark] = job.claims;
    work.starts.push_back({job.benchmark, it->came, it->request.trigger, it->request.request_id});
    it = requests_.erase(it);
  }
}

void Scheduler::StartScheduled(std::vector<const Job*>& ahead, Work& work) {
  for (State* state : InDueOrder()) {
    if (!Obstacle(state->job, ahead).empty()) {
      ahead.push_back(&state->job);
      continue;
    }
    running_[state->job.benchmark] = state->job.claims;
    work.starts.push_back({state->job.benchmark, *state->waiting_since, v1::TRIGGER_SCHEDULE, ""});
    state->waiting_since.reset();
  }
}

std::vector<Scheduler::State*> Scheduler::InDueOrder() {
  std::vector<State*> waiting;
  for (State& state : states_) {
    if (state.waiting_since.has_value()) waiting.push_back(&state);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const State* a, const State* b) { return *a->waiting_since < *b->waiting_since; });
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
  }
  for (const Waiting& waiting : requests_) next = std::min(next, waiting.expires);
  return next;
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
      state.waiting_since = old->waiting_since;
      // Due by now, and the thread has not seen it yet.
      if (old->next_due <= now && !state.waiting_since.has_value()) state.waiting_since = old->next_due;
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
  requests_.push_back({request, clock_.Now(), clock_.Mono() + request.expires_after});
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
    if (state.waiting_since.has_value()) {
      plan.waits_for = Obstacle(state.job, {});
      if (plan.waits_for.empty()) plan.waits_for = "others wait before it";
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace fleetmark::agent
