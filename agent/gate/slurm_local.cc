#include "agent/gate/slurm_local.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

// Looking for slurmd reads the name of every process.
constexpr absl::Duration kSearchInterval = absl::Seconds(10);

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Does somebody listen? A path that is too long for a socket address is believed.
bool Listens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return true;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return true;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;
}

std::vector<std::string> Names(const std::string& folder) {
  return FolderNames(folder).value_or(std::vector<std::string>());
}

// Is there a process in the cgroup or below? Old folders of jobs may stay empty.
bool HasProcesses(const std::string& folder, int depth = 0) {
  const absl::StatusOr<std::string> events = ReadFile(absl::StrCat(folder, "/cgroup.events"), 4096);
  if (events.ok()) return !absl::StrContains(*events, "populated 0");
  const absl::StatusOr<std::string> procs = ReadFile(absl::StrCat(folder, "/cgroup.procs"), 1 << 20);
  if (procs.ok() && !procs->empty()) return true;
  if (depth > 4) return false;
  for (const std::string& name : Names(folder)) {
    struct stat info {};
    const std::string path = absl::StrCat(folder, "/", name);
    if (lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && HasProcesses(path, depth + 1))
      return true;
  }
  return false;
}

void AddJobFolders(const std::string& folder, std::vector<SlurmTrace>& out) {
  for (const std::string& name : Names(folder)) {
    if (!absl::StartsWith(name, "job_") || !HasProcesses(absl::StrCat(folder, "/", name))) continue;
    out.push_back({SlurmTrace::Kind::kCgroup, name.substr(4)});
  }
}

}  // namespace

SlurmLocal::SlurmLocal(Options options, Clock& clock)
    : options_(std::move(options)), clock_(clock), proc_(options_.root) {}

absl::StatusOr<std::vector<SlurmTrace>> SlurmLocal::Find() {
  std::vector<SlurmTrace> found;
  FM_RETURN_IF_ERROR(AddFlags(found));
  FM_RETURN_IF_ERROR(AddSteps(found));
  AddCgroups(found);
  AddScripts(found);
  return found;
}

absl::Status SlurmLocal::AddSteps(std::vector<SlurmTrace>& out) const {
  if (options_.spool_dir.empty()) return absl::OkStatus();
  const auto names = FolderNames(options_.spool_dir);
  if (!names.has_value()) {
    // Also where it isn't there: slurmd makes it, so it is another, or not mounted into this container.
    return ErrnoStatus(errno, absl::StrCat("read SlurmdSpoolDir ", options_.spool_dir));
  }
  const std::string prefix = absl::StrCat(options_.node, "_");
  for (const std::string& name : *names) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, prefix)) continue;
    const std::string job(rest.substr(0, rest.find('.')));
    if (job.size() == rest.size() || !IsNumber(job)) continue;
    const std::string path = absl::StrCat(options_.spool_dir, "/", name);
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    if (Listens(path)) out.push_back({SlurmTrace::Kind::kStep, job});
  }
  return absl::OkStatus();
}

void SlurmLocal::AddCgroups(std::vector<SlurmTrace>& out) const {
  const std::string& root = options_.cgroup_root;
  for (const std::string& scope : {std::string("slurmstepd.scope"), options_.node + "_slurmstepd.scope"}) {
    AddJobFolders(absl::StrCat(root, "/system.slice/", scope), out);
  }
  for (const char* controller : {"freezer", "cpuset", "memory"}) {
    for (const std::string& top : {std::string("slurm"), "slurm_" + options_.node}) {
      const std::string folder = absl::StrCat(root, "/", controller, "/", top);
      for (const std::string& user : Names(folder)) {
        if (absl::StartsWith(user, "uid_")) AddJobFolders(absl::StrCat(folder, "/", user), out);
      }
    }
  }
}

std::map<pid_t, uint64_t> SlurmLocal::Daemons() {
  std::map<pid_t, uint64_t> daemons;
  {
    MutexLock lock(mu_);
    daemons = daemons_;
    if (clock_.Mono() >= next_search_) {
      daemons.clear();
      next_search_ = clock_.Mono() + kSearchInterval;
    } else if (daemons.empty()) {
      return daemons;
    }
  }
  const bool search = daemons.empty();
  std::map<pid_t, uint64_t> alive;
  if (search) {
    for (pid_t pid : proc_.All()) daemons.emplace(pid, 0);
  }
  for (const auto& [pid, start] : daemons) {
    const std::optional<ProcessStat> process = proc_.Read(pid);
    if (!process.has_value() || process->name != "slurmd") continue;
    if (search || process->start == start) alive.emplace(pid, process->start);
  }
  MutexLock lock(mu_);
  daemons_ = alive;
  return alive;
}

void SlurmLocal::AddScripts(std::vector<SlurmTrace>& out) {
  for (const auto& [daemon, start] : Daemons()) {
    for (pid_t child : proc_.Children(daemon)) {
      const std::optional<std::string> job = proc_.Environment(child, "SLURM_JOB_ID");
      if (!job.has_value()) continue;  // a health check, or slurmd itself before it becomes a script
      const std::string node = proc_.Environment(child, "SLURMD_NODENAME").value_or(options_.node);
      if (node != options_.node) continue;
      const std::string context = proc_.Environment(child, "SLURM_SCRIPT_CONTEXT").value_or("");
      const bool epilog = absl::StrContains(context, "epilog");
      out.push_back({epilog ? SlurmTrace::Kind::kEpilog : SlurmTrace::Kind::kProlog, *job});
    }
  }
}

absl::Status SlurmLocal::AddFlags(std::vector<SlurmTrace>& out) const {
  if (options_.prolog_flag_dir.empty()) return absl::OkStatus();
  const auto names = FolderNames(options_.prolog_flag_dir);
  if (!names.has_value()) return ErrnoStatus(errno, absl::StrCat("read ", options_.prolog_flag_dir));
  for (const std::string& name : *names) {
    out.push_back({SlurmTrace::Kind::kFlag, IsNumber(name) ? name : ""});
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
