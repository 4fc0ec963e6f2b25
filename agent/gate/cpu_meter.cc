#include "agent/gate/cpu_meter.h"

#include <algorithm>
#include <set>

namespace fleetmark::agent {

std::optional<CpuSample> CpuMeter::Take(const std::vector<pid_t>& own_roots, const CpuSample* before) const {
  CpuSample sample;
  std::set<pid_t> pids = proc_.Tree(own_roots);
  if (before != nullptr) {
    for (const auto& [pid, start] : before->own) pids.insert(pid);
  }
  for (pid_t pid : pids) {
    const std::optional<ProcessStat> process = proc_.Read(pid);
    if (!process.has_value()) continue;
    if (before != nullptr) {
      const auto known = before->own.find(pid);
      if (known != before->own.end() && known->second != process->start) continue;  // another's by now
    }
    sample.own_user += process->user;
    sample.own_system += process->system;
    sample.own.emplace(pid, process->start);
  }
  // Last: what we spend on reading is ours, and is not counted as such until the next sample.
  const std::optional<CpuTimes> machine = proc_.Cpu();
  if (!machine.has_value()) return std::nullopt;
  sample.machine = *machine;
  return sample;
}

std::optional<ForeignCpu> CpuMeter::Between(const CpuSample& before, const CpuSample& after) {
  const int64_t total = after.machine.total - before.machine.total;
  const int64_t own_user = after.own_user - before.own_user;
  const int64_t own_system = after.own_system - before.own_system;
  if (total <= 0 || own_user + own_system < 0) return std::nullopt;
  const int64_t user = after.machine.user - before.machine.user;
  const int64_t all = user + after.machine.system - before.machine.system;
  const auto share = [total](int64_t ticks) {
    return static_cast<double>(std::max<int64_t>(0, ticks)) / static_cast<double>(total);
  };
  // The kernel splits a process's time into user and system by estimate: ours may be moved between the
  // two, but not made larger than it is.
  return ForeignCpu{std::min(share(user - own_user), share(all - own_user - own_system)),
                    share(all - own_user - own_system)};
}

}  // namespace fleetmark::agent
