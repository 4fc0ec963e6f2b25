// How much CPU time others use: all that the machine spent between two samples, less what the agent and its
// runs spent.
//
// A process of ours that ended is still counted, since its time goes to the parent that waited for it
// (Linux proc(5), cutime). One whose parent ignores SIGCHLD takes its time with it; that interval is then
// measured as nothing rather than charged to others.
//
// Thread-safety: const methods, any thread. Ownership: the reader outlives it.
#ifndef FLEETMARK_AGENT_GATE_CPU_METER_H_
#define FLEETMARK_AGENT_GATE_CPU_METER_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "agent/gate/proc_reader.h"

namespace fleetmark::agent {

struct CpuSample {
  CpuTimes machine;
  int64_t own_user = 0;  // ticks
  int64_t own_system = 0;
  std::map<pid_t, uint64_t> own;  // and when each started
};

// Fractions of all CPUs' time.
struct ForeignCpu {
  double user = 0;  // in programs alone
  double all = 0;   // in the kernel too, which includes its own threads: writing back what a run wrote, …
};

class CpuMeter {
 public:
  explicit CpuMeter(const ProcReader& proc) : proc_(proc) {}

  // `own_roots` and their descendants are ours. `before` is an earlier sample: its processes that live
  // still are ours too, as the kernel's list of children may miss one while another ends.
  std::optional<CpuSample> Take(const std::vector<pid_t>& own_roots, const CpuSample* before = nullptr) const;

  // Nothing when it can't be told.
  static std::optional<ForeignCpu> Between(const CpuSample& before, const CpuSample& after);

 private:
  const ProcReader& proc_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_CPU_METER_H_
