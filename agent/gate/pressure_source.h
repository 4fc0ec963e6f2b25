// Is the machine computing for somebody else? From /proc/stat, /proc/pressure and the processes' times.
//
// Thread-safety: all methods, any thread. Blocks: BeforeRun for Options::window at most. A kernel without
// /proc/pressure is judged by its CPU time alone. Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_GATE_PRESSURE_SOURCE_H_
#define FLEETMARK_AGENT_GATE_PRESSURE_SOURCE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/cpu_meter.h"
#include "agent/gate/gate_source.h"
#include "agent/gate/proc_reader.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class PressureSource final : public GateSource {
 public:
  struct Options {
    bool enabled = true;
    double cpu_busy = 0.10;       // others' share of all CPUs; 1 for never
    bool exclusive_only = false;  // ask the CPU only of runs that need it for themselves
    double memory = 0.10;         // "some avg10" as a fraction; 1 for never
    double io = 0.30;
    absl::Duration window = absl::Milliseconds(200);   // between two looks at the CPU times
    absl::Duration lasting = absl::Milliseconds(400);  // others' use that stops a run lasts longer
    std::string root;
    pid_t self = 0;  // the agent; 0: this process
  };

  // The clock must outlive it.
  PressureSource(Options options, Clock& clock);

  std::string_view name() const override { return "pressure"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

 private:
  struct Watched {
    CpuSample sample;
    MonoTime at;
    absl::Duration over;  // how long the others have been above the limit
    GateAnswer answer;
  };

  bool AsksCpu(const GateQuery& query) const;
  GateAnswer CheckPressure() const;
  GateAnswer CheckCpu(const GateQuery& query);
  std::string TooMuch(const GateQuery& query, const ForeignCpu& use) const;
  // Of runs that ended.
  void DropOld(MonoTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Clock& clock_;
  const ProcReader proc_;
  const CpuMeter meter_;

  Mutex mu_;
  std::map<pid_t, Watched> watched_ ABSL_GUARDED_BY(mu_);
  std::optional<MonoTime> last_run_ ABSL_GUARDED_BY(mu_);  // when a run of ours was last seen
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_PRESSURE_SOURCE_H_
