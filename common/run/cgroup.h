// A cgroup for each run, which bounds its memory and processes and finds all of them at its end. There is
// never a CPU quota: it would falsify what is measured.
//
// Version 2 is used where its memory and pids controllers are: the runs' cgroups are below that of this
// process, and because a cgroup with controllers for its children may hold no process, this one moves
// itself into a child "fleetmark-agent". Else version 1's memory and pids hierarchies. Where neither is
// permitted there is no cgroup, and runs go without.
//
// Thread-safety: CgroupRoot, all methods, any thread; a RunCgroup is one thread's at a time. Ownership: a
// RunCgroup does not need its root to live.
#ifndef FLEETMARK_COMMON_RUN_CGROUP_H_
#define FLEETMARK_COMMON_RUN_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/run/cgroup_layout.h"

namespace fleetmark {

// The number after `name` in a file of lines "name number"; nothing when there is none.
std::optional<uint64_t> CgroupCount(const std::string& path, std::string_view name);

// What the kernel counted for a run.
struct CgroupEvents {
  bool oom_kill = false;       // it killed a process of the run for want of memory
  bool memory_limit = false;   // because the run was at its own limit, not the machine at its end
  bool process_limit = false;  // it refused to make a process
};

class RunCgroup {
 public:
  RunCgroup(RunCgroup&& other) noexcept : folders_(std::exchange(other.folders_, {})) {}
  RunCgroup& operator=(RunCgroup&&) = delete;
  // As Remove.
  ~RunCgroup();

  // One for version 2; one for each controller of version 1. A process is in the run when it is in all.
  const std::vector<std::string>& folders() const { return folders_; }

  CgroupEvents Events() const;
  std::vector<pid_t> Processes() const;

  // Kills what is left in it and removes it; waits at most a second or two for the kernel to do so.
  // Unavailable when a process can't be killed: then the cgroup stays.
  absl::Status Remove();

 private:
  friend class CgroupRoot;
  explicit RunCgroup(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  std::vector<std::string> folders_;
};

class CgroupRoot {
 public:
  struct Options {
    std::string tag;        // tells apart the runs' cgroups of several agents; the same at each start of one
    std::string parent;     // as in /proc/self/cgroup; empty: this process's own
    bool move_self = true;  // into a child of its own cgroup, where version 2 needs it
  };

  // Probes, and removes what an earlier process with this tag left, with the processes in it. Unavailable
  // with the reason why no kind of cgroup can be used.
  static absl::StatusOr<CgroupRoot> Open(const Options& options, const CgroupLayout& layout);

  CgroupRoot(CgroupRoot&&) noexcept = default;
  CgroupRoot& operator=(CgroupRoot&&) = delete;
  // Removes the folder of the runs' cgroups, if it is empty.
  ~CgroupRoot();

  // "version 2 below /sys/fs/cgroup/system.slice/fleetmark-agent.service", for a log.
  std::string Describe() const;

  // A new cgroup `name` with these bounds; 0: none.
  absl::StatusOr<RunCgroup> Make(const std::string& name, int64_t memory_bytes, int64_t processes) const;

 private:
  CgroupRoot(bool unified, std::vector<std::string> folders)
      : unified_(unified), folders_(std::move(folders)) {}
  static absl::StatusOr<CgroupRoot> OpenUnified(const Options& options, const CgroupPlace& place);
  static absl::StatusOr<CgroupRoot> OpenOld(const Options& options, const CgroupLayout& layout);

  bool unified_;
  std::vector<std::string> folders_;  // that hold the runs'
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_CGROUP_H_
