// How much of the node's time benchmarks may take: a ledger that survives restarts.
//
// A token bucket in seconds of benchmark time. A day's allowance is `share` of a day. The bucket holds a
// tenth of it, and fills with the other nine tenths over a day, so that whatever day is looked at, no more
// than the allowance was spent in it, save by a run that takes longer than was expected: that goes into
// debt, which is paid off before the next run. A benchmark whose runs take longer than the bucket holds
// starts when the bucket is full.
//
// What a run is expected to take is kept by benchmark: the last durations, the longer ones weighing more. It
// is spent when the run begins, and settled when it ends; a run whose agent is killed has cost what was
// expected.
//
// Time is the monotonic clock's while the agent runs. Over a restart it is the wall clock's, at most a day.
//
// Thread-safety: all methods, any thread. Keep and End block on the disk. Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_SCHEDULE_BUDGET_H_
#define FLEETMARK_AGENT_SCHEDULE_BUDGET_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class Budget {
 public:
  struct Options {
    double share = 0.005;  // of the node's time; 1 or more is no budget
    std::string file;      // where the ledger is kept; empty: nowhere
  };

  // A ledger that can't be read is begun anew, full, with a line in the log.
  Budget(const Options& options, Clock& clock);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Zero when a run of `benchmark` may begin now; else how long until it may.
  absl::Duration WaitFor(const std::string& benchmark);

  // A run is about to begin: what it is expected to take is spent. Returns that, for End.
  absl::Duration Begin(const std::string& benchmark);

  // Writes the ledger: before the run really begins, so that it has cost something if the agent is killed.
  void Keep();

  // The run has ended after `took`. Zero: it never started, and what it was expected to take comes back.
  void End(const std::string& benchmark, absl::Duration reserved, absl::Duration took);

  // What a run is expected to take; a guess of ten seconds before the first one.
  absl::Duration Expected(const std::string& benchmark) const;

  // The part of the bucket that is spent, 0 to 1.
  double used();

  // What ended runs took in all, since this was made.
  absl::Duration spent() const;

  double share() const { return options_.share; }
  bool limited() const { return options_.share < 1; }

 private:
  void Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Save() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Accrue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration ExpectedLocked(const std::string& benchmark) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const absl::Duration capacity_;
  const double rate_;  // seconds of benchmark time a second
  Clock& clock_;
  mutable Mutex mu_;  // held while the ledger is written
  absl::Duration balance_ ABSL_GUARDED_BY(mu_);
  MonoTime accrued_ ABSL_GUARDED_BY(mu_);
  absl::Duration spent_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, absl::Duration> cost_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SCHEDULE_BUDGET_H_
