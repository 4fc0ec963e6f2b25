// The processes below the calling one, from /proc, and their end. For fleetmark-launch, which is a
// subreaper: whatever a run starts, however often it forks or calls setsid, stays below it.
//
// Thread-safety: for a program of one thread. Uses the C library alone.
#ifndef FLEETMARK_COMMON_RUN_PROCESS_TREE_H_
#define FLEETMARK_COMMON_RUN_PROCESS_TREE_H_

#include <sys/types.h>

#include <vector>

namespace fleetmark::launch {

// All living descendants. Processes that start meanwhile may be missing.
std::vector<pid_t> Descendants();

// One signal to every descendant.
void SignalDescendants(int signal);

// Stops all descendants, so that none can fork, then kills them. One round: the caller reaps and repeats
// until it has no child.
void KillDescendants();

}  // namespace fleetmark::launch

#endif  // FLEETMARK_COMMON_RUN_PROCESS_TREE_H_
