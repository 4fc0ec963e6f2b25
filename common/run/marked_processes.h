// Processes told by an entry of their environment: the last resort when a run's reaper was killed, for
// example by the kernel's out-of-memory killer, and its processes can't be found by their ancestry.
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_COMMON_RUN_MARKED_PROCESSES_H_
#define FLEETMARK_COMMON_RUN_MARKED_PROCESSES_H_

#include <string>

namespace fleetmark {

// Kills every process that was started with `entry` ("NAME=value") in its environment, and repeats until
// none is left, for at most a second or so. Does nothing for an empty entry. Blocks.
void KillMarked(const std::string& entry);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_MARKED_PROCESSES_H_
