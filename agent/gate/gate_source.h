// One way of telling whether the node is free for a benchmark: Slurm, the kubelet, the load, GPUs, …
//
// Thread-safety: all methods of a source, any thread. Errors: there are none; a source that can't tell says
// so, and the gate treats that as busy.
#ifndef FLEETMARK_AGENT_GATE_GATE_SOURCE_H_
#define FLEETMARK_AGENT_GATE_GATE_SOURCE_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "agent/gpu/gpu.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

// What the run would use.
struct GateQuery {
  std::string benchmark;
  v1::Trigger trigger = v1::TRIGGER_SCHEDULE;  // a run of a job's own epilog is not kept off by that epilog
  bool cpu_exclusive = false;                  // nothing else may compute meanwhile
  bool uses_gpu = false;
  std::vector<Gpu> gpus;  // those it would use, when it uses any; empty: all
  // Of TRIGGER_EPILOG, where known: the batch job whose epilog asked. That job does not make the node busy.
  std::string job_id;
};

struct GateAnswer {
  enum class State { kFree, kBusy, kUnknown };

  static GateAnswer Free() { return {}; }
  static GateAnswer Busy(std::string reason) { return {State::kBusy, std::move(reason), {}, {}}; }
  static GateAnswer Unknown(std::string reason, absl::Duration retry_after = absl::ZeroDuration()) {
    return {State::kUnknown, std::move(reason), {}, retry_after};
  }

  bool free() const { return state == State::kFree; }

  State state = State::kFree;
  std::string reason;  // one line for people, for example "job 1234 runs here"; empty only when free
  std::string by;      // the source that decided, as the gate says; empty when free
  // Asking again sooner is pointless; zero: no opinion.
  absl::Duration retry_after;
};

class GateSource {
 public:
  virtual ~GateSource() = default;

  virtual std::string_view name() const = 0;

  // Just before a run. May block, for a bounded time that the source states (a controller's answer).
  virtual GateAnswer BeforeRun(const GateQuery& query) = 0;

  // During the run whose reaper process is `run` (its descendants are the benchmark's own). Called about
  // five times a second: answers at once from what is local, and asks no server. Only a certain Busy stops a
  // run; Unknown for longer than a few seconds does too.
  virtual GateAnswer DuringRun(const GateQuery& query, pid_t run) = 0;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_GATE_SOURCE_H_
