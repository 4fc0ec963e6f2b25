// What the gate reads of /proc: the machine's CPU time, pressure, and processes with their times.
//
// Thread-safety: const methods, any thread. Errors: whatever can't be read is as if it weren't there.
#ifndef FLEETMARK_AGENT_GATE_PROC_READER_H_
#define FLEETMARK_AGENT_GATE_PROC_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fleetmark::agent {

// Since boot, in ticks of USER_HZ. Interrupts and steal are in neither `user` nor `system`: the kernel
// does not charge them to the process that causes them.
struct CpuTimes {
  int64_t user = 0;    // with nice
  int64_t system = 0;  // in the kernel, for processes and for the kernel's own threads
  int64_t total = 0;   // busy or idle, of all CPUs
};

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
  char state = '?';
  uint64_t start = 0;  // ticks since boot: with `pid`, the identity of the process
  int64_t user = 0;    // ticks, with those of the children it has waited for, and theirs
  int64_t system = 0;
};

class ProcReader {
 public:
  // `root` is put before "/proc"; empty for the machine's own.
  explicit ProcReader(std::string root = "");

  std::optional<CpuTimes> Cpu() const;
  // "some avg10" of "cpu", "memory" or "io" as a fraction of time. Kernels without PSI have none.
  std::optional<double> Pressure(const std::string& resource) const;

  std::optional<ProcessStat> Read(pid_t pid) const;
  std::vector<pid_t> All() const;
  std::vector<pid_t> Children(pid_t pid) const;
  // `roots` and what descends from them. Reads only their own folders where the kernel lists children
  // (CONFIG_PROC_CHILDREN), else the whole of /proc. Processes that start meanwhile may be missing.
  std::set<pid_t> Tree(const std::vector<pid_t>& roots) const;

  // The value of an environment variable; nothing when it is not set, and nothing for a process of
  // another user unless privileged.
  std::optional<std::string> Environment(pid_t pid, const std::string& name) const;

 private:
  std::optional<std::string> Text(const std::string& path) const;
  // False when the kernel does not tell.
  bool AddChildren(pid_t pid, std::vector<pid_t>& out) const;
  std::set<pid_t> TreeByParents(const std::vector<pid_t>& roots) const;

  const std::string proc_;
};

// The names in a folder, without "." and "..", at most `max`. Nothing when it can't be read; errno tells.
std::optional<std::vector<std::string>> FolderNames(const std::string& path, size_t max = 65536);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_PROC_READER_H_
