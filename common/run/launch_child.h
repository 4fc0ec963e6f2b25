// Becomes the plugin: what a child of fleetmark-launch does between fork and exec.
//
// Thread-safety: for a program of one thread. Uses the C library alone.
#ifndef FLEETMARK_COMMON_RUN_LAUNCH_CHILD_H_
#define FLEETMARK_COMMON_RUN_LAUNCH_CHILD_H_

#include <sys/types.h>

#include "common/run/launch_options.h"
#include "common/run/launch_protocol.h"

namespace fleetmark::launch {

struct ChildFailure {
  Step step = Step::kNone;
  int error_number = 0;
};

// Takes own session and process group, default signals, limits, cgroups, affinity, niceness, user and
// working folder, then executes the program. Returns only if that failed. `launcher` is the parent's pid.
ChildFailure BecomePlugin(const LaunchOptions& options, pid_t launcher);

}  // namespace fleetmark::launch

#endif  // FLEETMARK_COMMON_RUN_LAUNCH_CHILD_H_
