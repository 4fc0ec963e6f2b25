// Slurm: is a job, a prolog or an epilog on this node, or about to come?
//
// What is local is asked first and costs no controller anything: the sockets of job steps in slurmd's spool
// folder, each proved alive by connecting to it, and the prolog and epilog scripts among slurmd's children.
// Only when these are silent is the controller asked, once, with `scontrol show node`: answers serve runs
// that start within seconds of one another; after a failure it is left alone for a time that doubles, with
// jitter, up to five minutes. During a run nothing but what is local is looked at.
//
// Thread-safety: all methods, any thread. BeforeRun blocks for at most `query_timeout` and a little.
// Ownership: the runner and the clock outlive it.
#ifndef FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_
#define FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

class SlurmSource final : public GateSource {
 public:
  struct Options {
    std::string node;       // as Slurm calls it
    std::string spool_dir;  // slurmd's
    std::string conf;       // slurm.conf, for scontrol; empty: its own default
    std::string scontrol = "scontrol";
    absl::Duration query_timeout = absl::Seconds(5);
    bool allow_reserved = false;
    std::string proc = "/proc";
  };

  SlurmSource(Options options, Runner& runner, Clock& clock);

  std::string_view name() const override { return "slurm"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

  uint64_t queries() const;  // of the controller, since the start

 private:
  GateAnswer Local(const GateQuery& query);
  GateAnswer Steps() const;
  GateAnswer Scripts(const GateQuery& query);
  std::vector<std::string> Daemons();
  absl::StatusOr<std::string> NodeState();
  absl::StatusOr<std::string> AskController();

  const Options options_;
  Runner& runner_;
  Clock& clock_;
  mutable Mutex mu_;
  std::vector<std::string> daemons_ ABSL_GUARDED_BY(mu_);  // process ids of slurmd
  MonoTime daemons_until_ ABSL_GUARDED_BY(mu_);

  mutable Mutex query_mu_;  // held while the controller is asked: others wait for the same answer
  uint64_t queries_ ABSL_GUARDED_BY(query_mu_) = 0;
  absl::StatusOr<std::string> answer_ ABSL_GUARDED_BY(query_mu_) = absl::UnavailableError("not asked yet");
  MonoTime answer_until_ ABSL_GUARDED_BY(query_mu_);
  Backoff backoff_ ABSL_GUARDED_BY(query_mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_
