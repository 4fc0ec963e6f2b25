// The jobs of Slurm on this node, from what its daemons leave on it: step sockets, cgroups, and running
// prologs and epilogs. Asks no server.
//
// What is looked at (Slurm 20 to 24):
//   SlurmdSpoolDir/<node>_<job>.<step>      a socket that slurmstepd listens on; where PrologFlags has
//                                           contain, every job has one. A slurmstepd that was killed leaves
//                                           its socket behind, which then refuses connections.
//   <cgroup>/<v1 controller>/slurm[_<node>]/uid_*/job_*
//   <cgroup>/system.slice/[<node>_]slurmstepd.scope/job_*
//   children of slurmd that have SLURM_JOB_ID in their environment; readable by root, or with CAP_SYS_PTRACE
//   <prolog_flag_dir>/<anything>            where the site's prolog makes a file and its epilog removes it; a
//                                           name that is a number is the job's
//
// Thread-safety: all methods, any thread. Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_GATE_SLURM_LOCAL_H_
#define FLEETMARK_AGENT_GATE_SLURM_LOCAL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "agent/gate/proc_reader.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

struct SlurmTrace {
  enum class Kind { kStep, kCgroup, kProlog, kEpilog, kFlag };
  Kind kind;
  std::string job;  // its id; may be empty for a flag
};

class SlurmLocal {
 public:
  struct Options {
    std::string node;
    std::string spool_dir;        // as slurm.conf says, with %h and %n replaced
    std::string prolog_flag_dir;  // empty: none
    std::string cgroup_root = "/sys/fs/cgroup";
    std::string root;  // before /proc
  };

  SlurmLocal(Options options, Clock& clock);

  // Every trace of every job. Takes well under a millisecond, but for a look at the names of all processes
  // each ten seconds. An error when a configured folder can't be read.
  absl::StatusOr<std::vector<SlurmTrace>> Find();

 private:
  absl::Status AddSteps(std::vector<SlurmTrace>& out) const;
  void AddCgroups(std::vector<SlurmTrace>& out) const;
  void AddScripts(std::vector<SlurmTrace>& out);
  absl::Status AddFlags(std::vector<SlurmTrace>& out) const;
  std::map<pid_t, uint64_t> Daemons();

  const Options options_;
  Clock& clock_;
  const ProcReader proc_;

  Mutex mu_;
  std::map<pid_t, uint64_t> daemons_ ABSL_GUARDED_BY(mu_);  // slurmd's, and when they started
  MonoTime next_search_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_LOCAL_H_
