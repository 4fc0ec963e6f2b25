#include "common/run/launched_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

// Above the descriptors that the launcher expects, so that arranging them overwrites none.
constexpr int kFirstFreeFd = 10;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<UniqueFd> MoveUp(UniqueFd fd) {
  UniqueFd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (!moved.valid()) return ErrnoStatus(errno, "copy a descriptor");
  return moved;
}

absl::StatusOr<Pipe> OwnPipe(int read_fd, int write_fd) {
  UniqueFd read(read_fd);
  UniqueFd write(write_fd);
  Pipe pipe;
  FM_ASSIGN_OR_RETURN(pipe.read, MoveUp(std::move(read)));
  FM_ASSIGN_OR_RETURN(pipe.write, MoveUp(std::move(write)));
  return pipe;
}

// Its read end does not block.
absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  FM_ASSIGN_OR_RETURN(Pipe pipe, OwnPipe(fds[0], fds[1]));
  if (fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "set up a pipe");
  return pipe;
}

// Like a pipe, but writing to it when the reader is gone raises no signal.
absl::StatusOr<Pipe> MakeSocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return ErrnoStatus(errno, "make a socket pair");
  return OwnPipe(fds[0], fds[1]);
}

// A file in memory rather than a pipe, so that a plugin that never reads can't hold anybody up.
absl::StatusOr<UniqueFd> StdinFile(const std::string& text) {
  UniqueFd file(memfd_create("stdin", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "make the standard input");
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(file.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write the standard input");
    at += static_cast<size_t>(n);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "rewind the standard input");
  return MoveUp(std::move(file));
}

std::vector<std::string> LauncherArguments(const std::string& launcher, const RunSpec& spec,
                                           const std::vector<std::string>& cgroups) {
  std::vector<std::string> arguments = {launcher};
  const auto add = [&](const char* name, auto value) {
    arguments.push_back(absl::StrCat("--", name, "=", value));
  };
  add("grace-ms", absl::ToInt64Milliseconds(spec.term_grace));
  add("dir", spec.work_dir);
  if (spec.nice != 0) add("nice", spec.nice);
  if (spec.user.has_value()) {
    add("uid", spec.user->uid);
    add("gid", spec.user->gid);
    if (!spec.user->groups.empty()) add("groups", absl::StrJoin(spec.user->groups, ","));
  }
  if (!spec.cpus.empty()) add("cpus", absl::StrJoin(spec.cpus, ","));
  if (spec.bounds.open_files > 0) add("nofile", spec.bounds.open_files);
  for (const std::string& cgroup : cgroups) add("cgroup", cgroup);
  // RLIMIT_NPROC counts all processes of a user, and so would bound the agent too were the user the same.
  if (cgroups.empty() && spec.bounds.processes > 0 && spec.user.has_value() && spec.user->uid != geteuid())
    add("nproc", spec.bounds.processes);
  if (spec.io_class != IoClass::kInherit) add("io-class", spec.io_class == IoClass::kIdle ? 3 : 2);
  arguments.push_back("--");
  arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  return arguments;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The C library's lists of what to do in the new process, freed at the end of the scope.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void Put(const UniqueFd& fd, int as) { posix_spawn_file_actions_adddup2(&actions_, fd.get(), as); }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

const char* StepName(launch::Step step) {
  switch (step) {
    case launch::Step::kNone:
    case launch::Step::kOptions:
      return "read the launcher's command line";
    case launch::Step::kLauncher:
      return "make a process";
    case launch::Step::kLimits:
      return "set its limits, niceness and I/O class";
    case launch::Step::kCgroup:
      return "enter its cgroup";
    case launch::Step::kAffinity:
      return "set its CPUs";
    case launch::Step::kUser:
      return "change to its user";
    case launch::Step::kWorkFolder:
      return "enter its working folder";
    case launch::Step::kExec:
      return "execute it";
  }
  return "start it";
}

}  // namespace

absl::StatusOr<LaunchedProcess> LaunchedProcess::Start(const std::string& launcher, const RunSpec& spec,
                                                       const std::vector<std::string>& cgroups) {
  FM_ASSIGN_OR_RETURN(UniqueFd in, StdinFile(spec.stdin_text));
  FM_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  FM_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  FM_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  FM_ASSIGN_OR_RETURN(Pipe control, MakeSocketPair());

  SpawnSettings settings;
  settings.Put(in, STDIN_FILENO);
  settings.Put(out.write, STDOUT_FILENO);
  settings.Put(err.write, STDERR_FILENO);
  settings.Put(control.read, launch::kControlFd);
  settings.Put(report.write, launch::kReportFd);
  std::vector<std::string> arguments = LauncherArguments(launcher, spec, cgroups);
  std::vector<std::string> environment;
  for (const auto& [name, value] : spec.environment) environment.push_back(absl::StrCat(name, "=", value));

  LaunchedProcess process;
  const int error = posix_spawn(&process.pid_, launcher.c_str(), settings.actions(), settings.attributes(),
                                Pointers(arguments).data(), Pointers(environment).data());
  if (error != 0) {
    process.pid_ = 0;
    return ErrnoStatus(error, absl::StrCat("start ", launcher));
  }
  process.control_ = std::move(control.write);
  process.out_ = std::move(out.read);
  process.err_ = std::move(err.read);
  process.report_ = std::move(report.read);
  return process;
}

LaunchedProcess::LaunchedProcess(LaunchedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      control_(std::move(other.control_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      report_(std::move(other.report_)) {}

LaunchedProcess::~LaunchedProcess() {
  if (pid_ == 0) return;
  // The launcher kills its run when the control pipe closes.
  control_.Reset();
  Wait();
}

void LaunchedProcess::Terminate(bool fast) {
  const char command = fast ? launch::kTerminateFast : launch::kTerminate;
  // A launcher that is gone needs no telling.
  while (send(control_.get(), &command, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void LaunchedProcess::Wait() {
  if (pid_ == 0) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

void LaunchedProcess::KillHard(pid_t group) {
  if (group > 0) kill(-group, SIGKILL);
  if (pid_ != 0) kill(pid_, SIGKILL);
  Wait();
}

absl::Status StartError(const launch::LaunchReport& report, const RunSpec& spec) {
  return ErrnoStatus(report.error_number,
                     absl::StrCat("start ", spec.command.front(), ": can't ", StepName(report.failed_step)));
}

}  // namespace fleetmark
