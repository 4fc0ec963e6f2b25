// Entering a run's cgroup, and killing whatever is in it. For fleetmark-launch, which must be able to do so
// when the agent is gone, and for the agent, should the launcher be gone.
//
// Thread-safety: functions without state. Uses the C library alone.
#ifndef FLEETMARK_COMMON_RUN_CGROUP_MEMBERS_H_
#define FLEETMARK_COMMON_RUN_CGROUP_MEMBERS_H_

namespace fleetmark::launch {

// Moves the calling process into the cgroup at `folder`. False, with errno, when that fails.
bool EnterCgroup(const char* folder);

// Kills every process in it, once; those that the kernel has not yet taken away are counted. Nothing in a
// version 1 cgroup with the pids controller can fork from then on. Returns how many there were; 0 also for
// a folder that isn't there.
int KillCgroup(const char* folder);

}  // namespace fleetmark::launch

#endif  // FLEETMARK_COMMON_RUN_CGROUP_MEMBERS_H_
