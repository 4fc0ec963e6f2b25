// What a node's state in Slurm means for a benchmark. States are those of slurm(1) `scontrol show node`
// and `sinfo`, long or short, with any number of flags ("IDLE+DRAIN", "mixed-", "down*").
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_
#define FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_

#include <string_view>

#include "agent/gate/gate_source.h"

namespace fleetmark::agent {

struct SlurmStateRules {
  bool allow_reserved = false;  // measure in reservations that are not for maintenance
  bool own_epilog = false;      // a completing job is the one whose epilog asks
};

// Free: no job is there, and none can come unannounced. That is so for an idle node, and best for one that
// is drained or in a maintenance reservation. Unknown where Slurm itself does not know (down, not
// responding), and for states that this version has never heard of.
GateAnswer JudgeSlurmState(std::string_view state, const SlurmStateRules& rules);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_NODE_STATE_H_
