#include "common/run/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/run/cgroup_members.h"

namespace fleetmark {
namespace {

constexpr char kAgentLeaf[] = "fleetmark-agent";
constexpr char kControllers[] = "+memory +pids";
constexpr size_t kFileBytes = 1024 * 1024;
// Together two seconds: the kernel takes a killed process away when it has freed its memory.
constexpr int kRemoveRounds = 200;
constexpr int kRemovePauseMs = 10;

absl::Status Write(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  if (write(fd.get(), text.data(), text.size()) < 0) {
    return ErrnoStatus(errno, absl::StrCat("write '", text, "' to ", path));
  }
  return absl::OkStatus();
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

absl::Status MakeCgroup(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("make cgroup ", folder));
  }
  return absl::OkStatus();
}

std::vector<std::string> Children(const std::string& folder) {
  std::vector<std::string> children;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return children;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      children.push_back(absl::StrCat(folder, "/", entry->d_name));
    }
  }
  closedir(dir);
  return children;
}

// With the processes in it, and with cgroups that a plugin made in its own.
absl::Status RemoveCgroup(const std::string& folder) {
  for (int round = 0; round < kRemoveRounds; ++round) {
    for (const std::string& child : Children(folder)) RemoveCgroup(child).IgnoreError();
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    launch::KillCgroup(folder.c_str());
    poll(nullptr, 0, kRemovePauseMs);
  }
  return absl::UnavailableError(
      absl::StrCat("remove cgroup ", folder, ": it has processes that can't be killed"));
}

// A unit of systemd is ours to divide only if systemd says so; in other places the only sign of a stranger
// is a process of his.
bool MayDivide(const std::string& folder) {
  if (!Exists("/run/systemd/system")) return true;
  char value[8];
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    if (getxattr(folder.c_str(), name, value, sizeof value) == 1 && value[0] == '1') return true;
  }
  return false;
}

// Lets the children of `folder` have bounds. `move_self` says that this process may be moved out of the way.
absl::Status EnableControllers(const std::string& folder, bool move_self) {
  const std::string control = absl::StrCat(folder, "/cgroup.subtree_control");
  const absl::Status status = Write(control, kControllers);
  if (status.ok() || !move_self) return status;
  const std::string leaf = absl::StrCat(folder, "/", kAgentLeaf);
  FM_RETURN_IF_ERROR(MakeCgroup(leaf));
  FM_RETURN_IF_ERROR(Write(absl::StrCat(leaf, "/cgroup.procs"), absl::StrCat(getpid())));
  const absl::Status again = Write(control, kControllers);
  if (again.ok()) return again;
  Write(absl::StrCat(folder, "/cgroup.procs"), absl::StrCat(getpid())).IgnoreError();
  rmdir(leaf.c_str());
  return Annotate(again, "is another process in the agent's cgroup?");
}

bool HasControllers(const std::string& folder) {
  const std::string text = ReadFile(absl::StrCat(folder, "/cgroup.controllers"), kFileBytes).value_or("");
  const std::vector<std::string> names = absl::StrSplit(text, absl::ByAnyChar(" \n"));
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has("memory") && has("pids");
}

// Did a version 1 cgroup use all that it may? Newer kernels no longer count refusals in memory.failcnt.
bool FilledUp(const std::string& folder) {
  const auto number = [&](const char* file) {
    const std::string text = ReadFile(absl::StrCat(folder, "/", file), kFileBytes).value_or("");
    int64_t value = 0;
    return absl::SimpleAtoi(text, &value) ? value : -1;
  };
  const int64_t limit = number("memory.limit_in_bytes");
  // The kernel takes memory in batches, and so may refuse somewhat before the last byte.
  return limit > 0 && number("memory.max_usage_in_bytes") >= limit - limit / 64;
}

// The folder of the runs' cgroups, without what an earlier process left there.
absl::StatusOr<std::string> CleanBase(const std::string& parent, const std::string& tag) {
  const std::string base = absl::StrCat(parent, "/fleetmark-runs-", tag);
  FM_RETURN_IF_ERROR(MakeCgroup(base));
  // One whose processes can't be killed stays, and harms no other: each run's has a name of its own.
  for (const std::string& run : Children(base)) RemoveCgroup(run).IgnoreError();
  return base;
}

std::string ParentIn(const CgroupPlace& place, const std::string& configured) {
  return configured.empty() ? place.own : absl::StrCat(place.mount, configured);
}

absl::Status SetBounds(const std::string& folder, bool unified, int64_t memory_bytes, int64_t processes) {
  const auto file = [&](const char* name) { return absl::StrCat(folder, "/", name); };
  if (processes > 0 && Exists(file("pids.max"))) {
    FM_RETURN_IF_ERROR(Write(file("pids.max"), absl::StrCat(processes)));
  }
  if (unified) {
    if (memory_bytes > 0) FM_RETURN_IF_ERROR(Write(file("memory.max"), absl::StrCat(memory_bytes)));
    // Not there without swap, or before Linux 4.19.
    Write(file("memory.swap.max"), "0").IgnoreError();
    Write(file("memory.oom.group"), "1").IgnoreError();
  } else if (memory_bytes > 0 && Exists(file("memory.limit_in_bytes"))) {
    FM_RETURN_IF_ERROR(Write(file("memory.limit_in_bytes"), absl::StrCat(memory_bytes)));
    // Memory and swap together; not there without swap accounting.
    Write(file("memory.memsw.limit_in_bytes"), absl::StrCat(memory_bytes)).IgnoreError();
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<uint64_t> CgroupCount(const std::string& path, std::string_view name) {
  const absl::StatusOr<std::string> text = ReadFile(path, kFileBytes);
  if (!text.ok()) return std::nullopt;
  const std::string start = absl::StrCat(std::string(name), " ");
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    uint64_t number = 0;
    if (absl::ConsumePrefix(&line, start) && absl::SimpleAtoi(line, &number)) return number;
  }
  return std::nullopt;
}

// --- one run's -------------------------------------------------------------------------------------------

RunCgroup::~RunCgroup() { Remove().IgnoreError(); }

CgroupEvents RunCgroup::Events() const {
  CgroupEvents events;
  for (const std::string& folder : folders_) {
    const auto happened = [&](const char* file, const char* name) {
      return CgroupCount(absl::StrCat(folder, "/", file), name).value_or(0) > 0;
    };
    if (happened("memory.events", "oom_kill") || happened("memory.oom_control", "oom_kill")) {
      events.oom_kill = true;
      events.memory_limit = happened("memory.events", "oom") || FilledUp(folder);
    }
    if (happened("pids.events", "max")) events.process_limit = true;
  }
  return events;
}

std::vector<pid_t> RunCgroup::Processes() const {
  std::vector<pid_t> processes;
  if (folders_.empty()) return processes;
  const std::string text = ReadFile(absl::StrCat(folders_.front(), "/cgroup.procs"), kFileBytes).value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 0) processes.push_back(pid);
  }
  return processes;
}

absl::Status RunCgroup::Remove() {
  absl::Status first;
  for (const std::string& folder : std::exchange(folders_, {})) {
    const absl::Status status = RemoveCgroup(folder);
    if (first.ok()) first = status;
  }
  return first;
}

// --- all runs' -------------------------------------------------------------------------------------------

absl::StatusOr<CgroupRoot> CgroupRoot::OpenUnified(const Options& options, const CgroupPlace& place) {
  if (place.mount.empty()) return absl::UnavailableError("version 2 is not mounted");
  std::string parent = ParentIn(place, options.parent);
  // An earlier process of this service moved itself, and the service manager started us in its place.
  if (options.parent.empty() && absl::EndsWith(parent, absl::StrCat("/", kAgentLeaf))) {
    parent.erase(parent.rfind('/'));
  }
  if (!options.parent.empty()) FM_RETURN_IF_ERROR(MakeCgroup(parent));
  if (!HasControllers(parent)) {
    return absl::UnavailableError(absl::StrCat(parent, " has no memory and pids controllers"));
  }
  if (options.parent.empty() && !MayDivide(parent)) {
    return absl::UnavailableError(absl::StrCat(parent, " is systemd's: its unit has no Delegate=yes"));
  }
  FM_RETURN_IF_ERROR(EnableControllers(parent, options.move_self && options.parent.empty()));
  FM_ASSIGN_OR_RETURN(const std::string base, CleanBase(parent, options.tag));
  FM_RETURN_IF_ERROR(EnableControllers(base, false));
  return CgroupRoot(true, {base});
}

absl::StatusOr<CgroupRoot> CgroupRoot::OpenOld(const Options& options, const CgroupLayout& layout) {
  std::vector<std::string> folders;
  for (const char* controller : {"memory", "pids"}) {
    const auto place = layout.old.find(controller);
    if (place == layout.old.end()) continue;
    const std::string parent = ParentIn(place->second, options.parent);
    if (!options.parent.empty()) FM_RETURN_IF_ERROR(MakeCgroup(parent));
    FM_ASSIGN_OR_RETURN(std::string base, CleanBase(parent, options.tag));
    folders.push_back(std::move(base));
  }
  if (folders.empty()) return absl::UnavailableError("version 1 has no memory or pids hierarchy");
  return CgroupRoot(false, std::move(folders));
}

absl::StatusOr<CgroupRoot> CgroupRoot::Open(const Options& options, const CgroupLayout& layout) {
  absl::StatusOr<CgroupRoot> unified = OpenUnified(options, layout.unified);
  if (unified.ok()) return unified;
  absl::StatusOr<CgroupRoot> old = OpenOld(options, layout);
  if (old.ok()) return old;
  return absl::UnavailableError(
      absl::StrCat(std::string(unified.status().message()), "; ", std::string(old.status().message())));
}

CgroupRoot::~CgroupRoot() {
  // Fails where a process that can't be killed keeps its run's.
  for (const std::string& folder : folders_) rmdir(folder.c_str());
}

std::string CgroupRoot::Describe() const {
  return absl::StrCat("version ", unified_ ? 2 : 1, ": ", absl::StrJoin(folders_, ", "));
}

absl::StatusOr<RunCgroup> CgroupRoot::Make(const std::string& name, int64_t memory_bytes,
                                           int64_t processes) const {
  RunCgroup run({});
  for (const std::string& base : folders_) {
    FM_RETURN_IF_ERROR(MakeCgroup(base));
    const std::string folder = absl::StrCat(base, "/", name);
    if (mkdir(folder.c_str(), 0755) != 0) return ErrnoStatus(errno, absl::StrCat("make cgroup ", folder));
    run.folders_.push_back(folder);
    FM_RETURN_IF_ERROR(SetBounds(folder, unified_, memory_bytes, processes));
  }
  return run;
}

}  // namespace fleetmark
