// Asks slurmctld for the state of this node, sparingly: one query for benchmarks that start together, and
// after a failure none for a while, so that a fleet of agents does not hold down a controller that comes
// back.
//
// Thread-safety: all methods, any thread. Blocks: NodeState for Options::timeout and two seconds at most.
// Ownership: runner and clock must outlive it.
#ifndef FLEETMARK_AGENT_GATE_SLURM_CONTROLLER_H_
#define FLEETMARK_AGENT_GATE_SLURM_CONTROLLER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

class SlurmController {
 public:
  struct Options {
    std::string node;
    std::string scontrol = "scontrol";  // absolute, or looked up in /usr/bin and the like
    std::string slurm_conf;             // empty: Slurm's own default
    absl::Duration timeout = absl::Seconds(5);
    absl::Duration cache = absl::Seconds(5);
    Backoff::Options retry = {absl::Seconds(5), absl::Minutes(5), 2.0};
    uint64_t seed = 0;
  };

  struct Answer {
    absl::Status status;
    std::string state;           // "IDLE+DRAIN", when OK
    absl::Duration retry_after;  // when not OK
  };

  SlurmController(Options options, Runner& runner, Clock& clock)
      : options_(std::move(options)),
        runner_(runner),
        clock_(clock),
        backoff_(options_.retry, options_.seed) {}

  Answer NodeState();

  // How often the controller was really asked.
  uint64_t queries() const;

 private:
  absl::StatusOr<std::string> Query() const;

  const Options options_;
  Runner& runner_;
  Clock& clock_;

  mutable Mutex mu_;
  CondVar done_;
  bool asking_ ABSL_GUARDED_BY(mu_) = false;
  Backoff backoff_ ABSL_GUARDED_BY(mu_);
  Answer last_ ABSL_GUARDED_BY(mu_);
  MonoTime valid_until_ ABSL_GUARDED_BY(mu_);  // of last_, a failure too
  uint64_t queries_ ABSL_GUARDED_BY(mu_) = 0;
};

// The value of "State=" in a line of `scontrol show node -o`; NotFound when it has none.
absl::StatusOr<std::string> StateOfNodeLine(const std::string& line);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_CONTROLLER_H_
