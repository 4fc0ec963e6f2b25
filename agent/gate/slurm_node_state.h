// What a Slurm node's state means for a benchmark. Reads the long form of `scontrol show node` ("IDLE+DRAIN",
// "MIXED+PLANNED", "MAINTENANCE+RESERVED") and the short one of `sinfo` ("drng*", "idle~").
//
// Free: no job runs and none can start without warning: idle, and idle nodes that are drained or under
// maintenance, which are the best to measure. Busy: a job runs, ends, or is about to come. Unknown: Slurm
// itself does not know (down, not responding, powering, rebooting, a state of a later version).
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_
#define FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_

#include <string_view>

#include "agent/gate/gate_source.h"

namespace fleetmark::agent {

struct SlurmJudgement {
  bool allow_reserved = false;  // a reservation that is no maintenance is for somebody's jobs
  bool in_epilog = false;       // asked from the epilog of the job that is completing
};

// The reason names the state.
GateAnswer JudgeSlurmState(std::string_view state, const SlurmJudgement& judgement = {});

// The value of `key` in a line of `scontrol show node -o`: "State=IDLE+DRAIN ". Empty when it has none.
std::string_view ScontrolField(std::string_view line, std::string_view key);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_
