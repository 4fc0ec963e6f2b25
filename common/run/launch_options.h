// The command line of fleetmark-launch:
//   fleetmark-launch [--grace-ms=N] [--dir=PATH] [--nice=N] [--uid=N] [--gid=N] [--groups=N,…]
//                    [--cpus=0,1,…] [--nofile=N] [--nproc=N] [--io-class=N] [--cgroup=FOLDER]… -- PROGRAM
//                    [ARGUMENT…]
//
// Thread-safety: for a program of one thread. Uses the C library alone.
#ifndef FLEETMARK_COMMON_RUN_LAUNCH_OPTIONS_H_
#define FLEETMARK_COMMON_RUN_LAUNCH_OPTIONS_H_

#include <vector>

namespace fleetmark::launch {

struct LaunchOptions {
  long grace_ms = 2000;  // between SIGTERM and SIGKILL
  const char* dir = nullptr;
  long nice = 0;
  long uid = -1;  // -1: stays as it is
  long gid = -1;
  std::vector<int> groups;  // beside `gid`
  std::vector<int> cpus;    // empty: any
  long nofile = -1;         // -1: inherited
  long nproc = -1;
  long io_class = 0;                 // of ioprio_set; 0: stays as it is
  std::vector<const char*> cgroups;  // that the plugin enters; the launcher does not
  char** command = nullptr;          // ends with a null pointer
};

// False when the command line is wrong.
bool ParseLaunchOptions(int argc, char** argv, LaunchOptions& options);

}  // namespace fleetmark::launch

#endif  // FLEETMARK_COMMON_RUN_LAUNCH_OPTIONS_H_
