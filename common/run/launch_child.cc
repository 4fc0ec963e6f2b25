#include "common/run/launch_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "common/run/cgroup_members.h"

namespace fleetmark::launch {
namespace {

// The kernel's out-of-memory killer should take the plugin before the agent or a user's work.
constexpr char kOomScoreAdj[] = "800";

// linux/ioprio.h, which older systems lack.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoClassShift = 13;
constexpr int kIoClassIdle = 3;
constexpr int kLastIoLevel = 7;

void DefaultSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void OfferToOomKiller() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // A kernel that refuses leaves the inherited score, which is safe too.
  if (write(fd, kOomScoreAdj, strlen(kOomScoreAdj)) < 0) errno = 0;
  close(fd);
}

bool Limit(decltype(RLIMIT_CORE) resource, long value) {
  if (value < 0) return true;
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) return false;
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(value));
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(resource, &limit) == 0;
}

bool SetLimits(const LaunchOptions& options) {
  return Limit(RLIMIT_CORE, 0) && Limit(RLIMIT_NOFILE, options.nofile) &&
         Limit(RLIMIT_NPROC, options.nproc) &&
         (options.nice == 0 || setpriority(PRIO_PROCESS, 0, static_cast<int>(options.nice)) == 0);
}

bool SetIoClass(const LaunchOptions& options) {
  if (options.io_class == 0) return true;
  // Of the best-effort class the last level; the idle class has none.
  const long level = options.io_class == kIoClassIdle ? 0 : kLastIoLevel;
  return syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, (options.io_class << kIoClassShift) | level) == 0;
}

bool EnterCgroups(const LaunchOptions& options) {
  return std::all_of(options.cgroups.begin(), options.cgroups.end(), EnterCgroup);
}

bool SetAffinity(const LaunchOptions& options) {
  if (options.cpus.empty()) return true;
  const int highest = *std::max_element(options.cpus.begin(), options.cpus.end());
  cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(highest) + 1);
  if (set == nullptr) return false;
  const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(highest) + 1);
  CPU_ZERO_S(size, set);
  for (int cpu : options.cpus) CPU_SET_S(static_cast<size_t>(cpu), size, set);
  const bool done = sched_setaffinity(0, size, set) == 0;
  CPU_FREE(set);
  return done;
}

bool SetUser(const LaunchOptions& options) {
  if (options.gid >= 0) {
    const auto gid = static_cast<gid_t>(options.gid);
    std::vector<gid_t> groups(options.groups.begin(), options.groups.end());
    groups.push_back(gid);
    if (setgroups(groups.size(), groups.data()) != 0 || setresgid(gid, gid, gid) != 0) return false;
  }
  if (options.uid >= 0) {
    const auto uid = static_cast<uid_t>(options.uid);
    if (setresuid(uid, uid, uid) != 0) return false;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace

ChildFailure BecomePlugin(const LaunchOptions& options, pid_t launcher) {
  const auto failed = [](Step step) { return ChildFailure{step, errno}; };
  setsid();
  DefaultSignals();
  OfferToOomKiller();
  if (!SetLimits(options) || !SetIoClass(options)) return failed(Step::kLimits);
  if (!EnterCgroups(options)) return failed(Step::kCgroup);
  if (!SetAffinity(options)) return failed(Step::kAffinity);
  if (!SetUser(options)) return failed(Step::kUser);
  // After the change of user, which clears it: should somebody kill the launcher, the plugin goes too.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != launcher) return ChildFailure{Step::kLauncher, ESRCH};
  umask(077);
  if (options.dir != nullptr && chdir(options.dir) != 0) return failed(Step::kWorkFolder);
  execvp(options.command[0], options.command);
  return failed(Step::kExec);
}

}  // namespace fleetmark::launch
