// Starts each benchmark when it is due and what it needs is free.
//
// - A benchmark never overlaps itself, nor another one whose claims exclude it. What waits is started in
//   order (requests first, then by due time); nothing that comes later may take a resource that an earlier
//   one waits for, so nothing starves.
// - At most one scheduled run of a benchmark waits: runs that were missed are not made up for.
// - The thread sleeps until the next due time by the monotonic clock and decides by the wall clock. A wall
//   clock that is set, by a minute or more, in either direction, makes every due time be found anew: no run
//   for the time that was jumped over, no wait until the old time comes again.
// - RunNow puts a run before all scheduled ones, until it expires.
// - A run that was started and could not begin, because the node is not free, comes back by Deferred and is
//   started again after a while. Meanwhile it holds nothing and stands in nobody's way. When the next time
//   of its schedule comes first, the run that waited is reported as missed.
// - A scheduled run waits for the node's time budget in turn: what comes later waits with it.
//
// Thread-safety: public methods, any thread; none blocks but Stop. Callbacks run in the scheduler's thread
// with no lock held, must return quickly, and may call any method but Stop.
// Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_SCHEDULE_SCHEDULER_H_
#define FLEETMARK_AGENT_SCHEDULE_SCHEDULER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "agent/schedule/resources.h"
#include "agent/schedule/schedule.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class Scheduler {
 public:
  static constexpr size_t kMaxRequests = 64;

  struct Job {
    std::string benchmark;             // unique
    std::optional<Schedule> schedule;  // none: only on request
    Claims claims;
  };

  struct Request {
    std::string request_id;  // unique among those that wait
    std::string benchmark;
    v1::Trigger trigger = v1::TRIGGER_MANUAL;
    absl::Duration expires_after = absl::Minutes(1);  // not started by then: refused
    std::string job_id;                               // of TRIGGER_EPILOG: the job that ended; may be empty
  };

  // A run that begins now.
  struct Start {
    std::string benchmark;
    absl::Time due;  // of a request: when it came
    v1::Trigger trigger = v1::TRIGGER_SCHEDULE;
    std::string request_id;  // empty: scheduled
    MonoTime expires;        // of a request, and how long it was given
    absl::Duration expires_after;
    std::string job_id;        // the request's
    std::string deferred_why;  // of the try before this one; empty: it is the first
  };

  struct Callbacks {
    std::function<void(const Start&)> start;  // whoever takes it calls Finished at its end
    // A request that was taken and is given up: it expired, or its benchmark is gone. `why` is for people.
    std::function<void(const Request&, const std::string& why)> refused;
    // A scheduled run that was deferred until its next time came; `why` is the last reason given.
    std::function<void(const std::string& benchmark, absl::Time due, const std::string& why)> missed;
    // How long until the time budget allows a run of it; zero: now. Called with the scheduler's lock held:
    // it must not call back. Unset: no budget.
    std::function<absl::Duration(const std::string& benchmark)> budget_wait;
  };

  struct Plan {
    std::string benchmark;
    absl::Time next_due = absl::InfiniteFuture();
    bool running = false;
    std::string waits_for;  // why it is due and not started; empty: it isn't due
  };

  Scheduler(std::vector<Job> jobs, Callbacks callbacks, Clock& clock);
  ~Scheduler();  // stops
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void Run();   // starts the thread
  void Stop();  // ends it; nothing is started after. Runs that are under way are not its business.

  // Replaces all jobs. One that is still there keeps its waiting run; requests for one that is gone are
  // refused. Runs under way keep their claims.
  void Reload(std::vector<Job> jobs);

  // NotFound: no such benchmark. AlreadyExists: the request waits already. ResourceExhausted: too many wait.
  absl::Status RunNow(const Request& request);

  // True when the request still waited and now never starts; `refused` is not called.
  bool CancelRequest(const std::string& request_id);

  // The run can't begin now, since `why`; it is started again after `retry_after`. Instead of Finished. A
  // request that would have expired by then is refused when it expires.
  void Deferred(const Start& start, const std::string& why, absl::Duration retry_after);

  // The run of this benchmark has ended.
  void Finished(const std::string& benchmark);

  std::vector<Plan> Snapshot() const;  // in the jobs' order

 private:
  struct State {
    Job job;
    absl::Time next_due = absl::InfiniteFuture();
    std::optional<absl::Time> waiting_due;  // the due time of the run that waits
    absl::Time queued;                      // since when it waits, for its turn
    MonoTime not_before;                    // of one that was deferred
    std::string deferred_why;               // empty: it wasn't
  };
  struct Waiting {
    Request request;
    absl::Time came;
    MonoTime expires;
    MonoTime not_before;
    std::string deferred_why;
  };
  struct Missed {
    std::string benchmark;
    absl::Time due;
    std::string why;
  };
  // What the thread does once the lock is free.
  struct Work {
    std::vector<Start> starts;
    std::vector<std::pair<Request, std::string>> refusals;
    std::vector<Missed> missed;
    bool empty() const { return starts.empty() && refusals.empty() && missed.empty(); }
  };

  void Loop();
  Work Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FollowWallClock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CollectDue(Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Expire(Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartRequests(std::vector<const Job*>& ahead, Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartScheduled(std::vector<const Job*>& ahead, Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why `job` can't start now; empty when it can. `ahead` are those that wait before it.
  std::string Obstacle(const Job& job, const std::vector<const Job*>& ahead) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<State*> InDueOrder() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  State* Find(const std::string& benchmark) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  MonoTime NextDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Callbacks callbacks_;
  Clock& clock_;

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<State> states_ ABSL_GUARDED_BY(mu_);
  std::deque<Waiting> requests_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<Request, std::string>> orphans_ ABSL_GUARDED_BY(mu_);  // to be refused
  std::map<std::string, Claims> running_ ABSL_GUARDED_BY(mu_);
  MonoTime budget_ready_ ABSL_GUARDED_BY(mu_) =
      MonoTime::InfiniteFuture();  // for the first that waits for it
  absl::Time seen_wall_ ABSL_GUARDED_BY(mu_);
  MonoTime seen_mono_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SCHEDULE_SCHEDULER_H_
