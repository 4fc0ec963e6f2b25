#include "agent/gate/gpu_source.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kStatBytes = 4096;
constexpr int kMaxAncestors = 128;

bool IsUsed(const GateQuery& query, const Gpu& gpu) {
  return query.gpus.empty() || std::any_of(query.gpus.begin(), query.gpus.end(), [&](const Gpu& used) {
           return used.pci_address.empty() ? used.name == gpu.name : used.pci_address == gpu.pci_address;
         });
}

std::string Describe(const GpuProcess& process, const Gpu& gpu) {
  return absl::StrCat("process ", process.pid,
                      process.name.empty() ? "" : absl::StrCat(" (", process.name, ")"), " computes on ",
                      gpu.name);
}

// What makes a GPU impossible to judge; empty when nothing does.
std::string Obstacle(const GpuState& state) {
  if (!state.error.empty()) return absl::StrCat(state.gpu.name, ": ", state.error);
  if (!state.processes_known) return absl::StrCat("the processes on ", state.gpu.name, " can't be told");
  return "";
}

}  // namespace

GpuSource::~GpuSource() {
  stop_.Cancel("the agent stops", CancelCause::kShutdown);
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    thread = std::move(thread_);
    changed_.NotifyAll();
  }
  if (thread.joinable()) thread.join();
}

GateAnswer GpuSource::BeforeRun(const GateQuery& query) {
  if (!query.uses_gpu) return GateAnswer::Free();
  CancelToken cancel;
  const absl::StatusOr<std::vector<GpuState>> states = options_.read(cancel);
  if (!states.ok()) return GateAnswer::Unknown(Message(states.status()));
  for (const SeenGpu& gpu : See(*states)) {
    if (!IsUsed(query, gpu.state.gpu)) continue;
    if (const std::string why = Obstacle(gpu.state); !why.empty()) return GateAnswer::Unknown(why);
    for (const SeenProcess& seen : gpu.processes) {
      if (seen.lineage.count(getpid()) == 0) return GateAnswer::Busy(Describe(seen.process, gpu.state.gpu));
    }
    const double use = gpu.state.utilization.value_or(0);
    if (use > options_.busy_utilization) {
      return GateAnswer::Busy(absl::StrCat(gpu.state.gpu.name, " is in use ",
                                           static_cast<int>(use * 100 + 0.5), " % of the time"));
    }
  }
  return GateAnswer::Free();
}

GateAnswer GpuSource::DuringRun(const GateQuery& query, pid_t run) {
  if (!query.uses_gpu) return GateAnswer::Free();
  const MonoTime now = clock_.Mono();
  MutexLock lock(mu_);
  const MonoTime since = NoteAsking(run, now).since;
  AskForLook(now);
  // A look from before the run shows who was there then.
  const bool is_of_run = since <= look_started_;
  if (now - (is_of_run ? look_ended_ : since) > options_.max_age) {
    return GateAnswer::Unknown("the GPU probe has not answered for seconds");
  }
  if (!is_of_run) return GateAnswer::Free();
  if (!look_status_.ok()) return GateAnswer::Unknown(Message(look_status_));
  for (const SeenGpu& gpu : seen_) {
    if (!IsUsed(query, gpu.state.gpu)) continue;
    if (const std::string why = Obstacle(gpu.state); !why.empty()) return GateAnswer::Unknown(why);
    for (const SeenProcess& seen : gpu.processes) {
      // One that ended meanwhile is nobody's; one that stays and can't be found is somebody else's.
      const bool is_gone = seen.lineage.empty() && !seen.seen_before;
      if (!is_gone && seen.lineage.count(run) == 0) {
        return GateAnswer::Busy(Describe(seen.process, gpu.state.gpu));
      }
    }
  }
  return GateAnswer::Free();
}

const GpuSource::Watch& GpuSource::NoteAsking(pid_t run, MonoTime now) {
  for (auto it = watches_.begin(); it != watches_.end();) {
    it = now - it->second.asked > options_.max_age ? watches_.erase(it) : std::next(it);
  }
  Watch& watch = watches_.try_emplace(run, Watch{now, now}).first->second;
  watch.asked = now;
  return watch;
}

void GpuSource::AskForLook(MonoTime now) {
  if (wanted_ || now - look_ended_ < options_.interval) return;
  wanted_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  changed_.NotifyAll();
}

void GpuSource::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      while (!stopping_ && !wanted_) changed_.Wait(mu_);
      if (stopping_) return;
    }
    const MonoTime started = clock_.Mono();
    Keep(started, options_.read(stop_));
  }
}

void GpuSource::Keep(MonoTime started, const absl::StatusOr<std::vector<GpuState>>& states) {
  std::vector<SeenGpu> seen;
  if (states.ok()) seen = See(*states);
  MutexLock lock(mu_);
  for (SeenGpu& gpu : seen) {
    for (const SeenGpu& before : seen_) {
      if (before.state.gpu.pci_address != gpu.state.gpu.pci_address) continue;
      for (SeenProcess& process : gpu.processes) {
        process.seen_before =
            std::any_of(before.processes.begin(), before.processes.end(),
                        [&](const SeenProcess& other) { return other.process.pid == process.process.pid; });
      }
    }
  }
  look_started_ = started;
  look_ended_ = clock_.Mono();
  look_status_ = states.status();
  seen_ = std::move(seen);
  wanted_ = false;
}

std::vector<GpuSource::SeenGpu> GpuSource::See(const std::vector<GpuState>& states) const {
  std::vector<SeenGpu> all;
  for (const GpuState& state : states) {
    SeenGpu& gpu = all.emplace_back();
    gpu.state = state;
    for (const GpuProcess& process : state.processes) {
      gpu.processes.push_back({process, Lineage(process.pid), false});
    }
  }
  return all;
}

std::set<pid_t> GpuSource::Lineage(pid_t pid) const {
  std::set<pid_t> lineage;
  for (int i = 0; i < kMaxAncestors && pid > 0; ++i) {
    const absl::StatusOr<std::string> stat =
        ReadFile(absl::StrCat(options_.proc, "/", pid, "/stat"), kStatBytes);
    if (!stat.ok()) break;
    lineage.insert(pid);
    // "pid (name) state parent …", where the name may hold anything.
    const size_t end = stat->rfind(')');
    const std::vector<std::string> fields =
        absl::StrSplit(end == std::string::npos ? "" : stat->substr(end + 1), ' ', absl::SkipEmpty());
    if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &pid)) break;
  }
  return lineage;
}

}  // namespace fleetmark::agent
