// Gate by GPUs: is one that the run would use, or uses, used by somebody else?
//
// Before a run: a process that computes there and is not this agent's, or more use than a threshold, is busy.
// During a run: a process that computes there and does not descend from the run's reaper is busy.
// A run that uses no GPU, or a node that has none, is always free.
//
// Cost: one start of the probe before a run; during it one each `interval`, in the source's own thread (see
// gpu_reader.h). A process that comes and goes between two looks is not seen.
//
// In a container the agent must share the host's process namespace: else others' processes can't be told
// from the run's own, and count as others'.
//
// Thread-safety: all methods, any thread. Ownership: clock and what `read` uses outlive it; owns its thread,
// which starts with the first run on a GPU.
#ifndef FLEETMARK_AGENT_GATE_GPU_SOURCE_H_
#define FLEETMARK_AGENT_GATE_GPU_SOURCE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gpu/gpu_reader.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/run/cancel_token.h"

namespace fleetmark::agent {

class GpuSource final : public GateSource {
 public:
  struct Options {
    std::function<absl::StatusOr<std::vector<GpuState>>(CancelToken&)> read;  // GpuReader::Read
    double busy_utilization = 0.05;                                           // before a run, of time
    absl::Duration interval = absl::Seconds(1);  // from the end of a look during a run to the next
    absl::Duration max_age = absl::Seconds(5);   // without a look for longer: unknown
    std::string proc = "/proc";
  };

  GpuSource(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  ~GpuSource() override;

  std::string_view name() const override { return "gpu"; }

  // Blocks for one reading, at most the reader's time limit.
  GateAnswer BeforeRun(const GateQuery& query) override;
  // Never blocks: judges the last look, and asks for another when it is time.
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

 private:
  struct SeenProcess {
    GpuProcess process;
    std::set<pid_t> lineage;  // itself and its ancestors; empty when there is no such process here
    bool seen_before = false;
  };
  struct SeenGpu {
    GpuState state;
    std::vector<SeenProcess> processes;
  };

  // A run that asks, since and until when.
  struct Watch {
    MonoTime since;
    MonoTime asked;
  };

  std::vector<SeenGpu> See(const std::vector<GpuState>& states) const;
  std::set<pid_t> Lineage(pid_t pid) const;
  const Watch& NoteAsking(pid_t run, MonoTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskForLook(MonoTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Loop();
  void Keep(MonoTime started, const absl::StatusOr<std::vector<GpuState>>& states);

  const Options options_;
  Clock& clock_;
  CancelToken stop_;

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;  // a look, from being asked for until it is over
  std::map<pid_t, Watch> watches_ ABSL_GUARDED_BY(mu_);
  MonoTime look_started_ ABSL_GUARDED_BY(mu_);  // the last look
  MonoTime look_ended_ ABSL_GUARDED_BY(mu_);
  absl::Status look_status_ ABSL_GUARDED_BY(mu_);
  std::vector<SeenGpu> seen_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_GPU_SOURCE_H_
