// fleetmark-launch: starts one plugin, outlives it, and ends only when no process of the run is left. It
// is the run's subreaper, so that orphans, also those in sessions of their own, come back to it; and it
// dies with its control pipe, so that a killed agent leaves nothing behind.
//
// A program of its own because a process with threads, as the agent with gRPC is, can't safely run code
// between fork and exec. One thread, the C library alone.
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "common/run/cgroup_members.h"
#include "common/run/launch_child.h"
#include "common/run/launch_options.h"
#include "common/run/launch_protocol.h"
#include "common/run/process_tree.h"

namespace fleetmark::launch {
namespace {

int64_t NowMs() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1000 + ts.tv_nsec / 1000000;
}

void Send(const LaunchReport& report) {
  while (write(kReportFd, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void FailToStart(Step step, int error_number) {
  LaunchReport report;
  report.failed_step = step;
  report.error_number = error_number;
  Send(report);
  _exit(1);
}

// Blocks every signal, so that a plugin's `kill 0` or a service manager's SIGTERM to the whole cgroup does
// not end the reaper before its run. Returns a descriptor that tells of ended children.
int WatchChildren() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  signal(SIGCHLD, SIG_DFL);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Forks and executes the plugin; the pipe closes by itself when the exec succeeds.
pid_t StartPlugin(const LaunchOptions& options) {
  int failure_pipe[2];
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) FailToStart(Step::kLauncher, errno);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid < 0) FailToStart(Step::kLauncher, errno);
  if (pid == 0) {
    const ChildFailure failure = BecomePlugin(options, launcher);
    const ssize_t written = write(failure_pipe[1], &failure, sizeof failure);
    _exit(written == sizeof failure ? 126 : 127);
  }
  close(failure_pipe[1]);
  ChildFailure failure;
  ssize_t n;
  do {
    n = read(failure_pipe[0], &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  close(failure_pipe[0]);
  if (n == sizeof failure) {
    // It is on its way out; nothing of the run may be left when the launcher is gone.
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    FailToStart(failure.step, failure.error_number);
  }
  return pid;
}

// The plugin's pipes belong to the plugin: they close when its processes end.
void LetGoOfPipes() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) FailToStart(Step::kLauncher, errno);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  close(null);
}

class Reaper {
 public:
  Reaper(pid_t plugin, int child_fd, const LaunchOptions& options)
      : plugin_(plugin), child_fd_(child_fd), options_(options) {}

  // Returns when no process of the run is left.
  void Run() {
    while (!Reap()) {
      if (plugin_ended_ && kill_at_ < 0) report_.leftovers = 1;
      if ((plugin_ended_ && kill_at_ < 0) || (kill_at_ >= 0 && NowMs() >= kill_at_)) return KillAll();
      Wait();
    }
  }

  LaunchReport Report() const {
    LaunchReport report = report_;
    rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    const auto micros = [](const timeval& t) { return int64_t{t.tv_sec} * 1000000 + t.tv_usec; };
    report.cpu_microseconds = micros(usage.ru_utime) + micros(usage.ru_stime);
    report.max_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
    report.read_bytes = int64_t{usage.ru_inblock} * 512;
    report.written_bytes = int64_t{usage.ru_oublock} * 512;
    report.involuntary_switches = static_cast<uint64_t>(usage.ru_nivcsw);
    return report;
  }

 private:
  // Collects the children that ended. True when there are none left.
  bool Reap() {
    while (true) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid == 0) return false;
      if (pid < 0) return errno == ECHILD;
      if (pid != plugin_) continue;
      plugin_ended_ = true;
      report_.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      report_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
  }

  // Until a child ends, the agent says something or dies, or the grace is over.
  void Wait() {
    pollfd fds[] = {{control_open_ ? kControlFd : -1, POLLIN, 0}, {child_fd_, POLLIN, 0}};
    const int64_t left = kill_at_ < 0 ? -1 : std::max<int64_t>(0, kill_at_ - NowMs());
    if (poll(fds, 2, static_cast<int>(std::min<int64_t>(left, 1 << 30))) <= 0) return;
    if (fds[1].revents != 0) DrainChildFd();
    if (fds[0].revents != 0) ReadControl();
  }

  void ReadControl() {
    char command = 0;
    const ssize_t n = read(kControlFd, &command, 1);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      control_open_ = false;
      kill_at_ = NowMs();
    } else if (command == kTerminate || command == kTerminateFast) {
      Terminate(command == kTerminate ? options_.grace_ms : kFastGraceMs);
    }
  }

  // Again only if that makes the end come sooner.
  void Terminate(long grace_ms) {
    const int64_t kill_at = NowMs() + grace_ms;
    if (kill_at_ >= 0 && kill_at_ <= kill_at) return;
    kill_at_ = kill_at;
    SignalDescendants(SIGTERM);
    SignalDescendants(SIGCONT);
  }

  void DrainChildFd() const {
    signalfd_siginfo info;
    while (read(child_fd_, &info, sizeof info) > 0) {
    }
  }

  void KillAll() {
    const int64_t give_up_at = NowMs() + kKillSeconds * 1000;
    while (NowMs() < give_up_at) {
      // First what can't escape or outrun it; descendants are looked for where there is no cgroup.
      for (const char* cgroup : options_.cgroups) KillCgroup(cgroup);
      KillDescendants();
      DrainChildFd();
      if (Reap()) return;
      pollfd child = {child_fd_, POLLIN, 0};
      poll(&child, 1, 20);
      if (Reap()) return;
    }
    report_.unkillable = static_cast<int32_t>(Descendants().size());
  }

  const pid_t plugin_;
  const int child_fd_;
  const LaunchOptions& options_;
  bool plugin_ended_ = false;
  bool control_open_ = true;
  int64_t kill_at_ = -1;  // set once the run is being ended
  LaunchReport report_;
};

int Main(int argc, char** argv) {
  // A report to an agent that is gone must not kill the launcher before it has killed the run.
  signal(SIGPIPE, SIG_IGN);
  LaunchOptions options;
  if (!ParseLaunchOptions(argc, argv, options)) FailToStart(Step::kOptions, EINVAL);
  if (close_range(kReportFd + 1, ~0U, 0) != 0) FailToStart(Step::kLauncher, errno);
  if (fcntl(kControlFd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(kReportFd, F_SETFD, FD_CLOEXEC) != 0) {
    FailToStart(Step::kLauncher, errno);
  }
  setsid();
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) FailToStart(Step::kLauncher, errno);
  const int child_fd = WatchChildren();
  if (child_fd < 0) FailToStart(Step::kLauncher, errno);
  LaunchReport started;
  started.kind = LaunchReport::kStarted;
  started.pid = StartPlugin(options);
  LetGoOfPipes();
  Send(started);
  Reaper reaper(started.pid, child_fd, options);
  reaper.Run();
  Send(reaper.Report());
  return 0;
}

}  // namespace
}  // namespace fleetmark::launch

int main(int argc, char** argv) { return fleetmark::launch::Main(argc, argv); }
