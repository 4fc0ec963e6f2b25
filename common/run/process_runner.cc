#include "common/run/process_runner.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/run/cgroup_layout.h"
#include "common/run/cgroup_members.h"
#include "common/run/launched_process.h"
#include "common/run/line_splitter.h"
#include "common/run/marked_processes.h"
#include "common/run/throttling.h"
#include "common/run/work_folder.h"

namespace fleetmark {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
// More than a pipe holds: a process outside the run that was given the pipe could fill it for ever.
constexpr int kDrainReads = 32;
// poll counts time that stops while the machine sleeps; the clock does not.
constexpr absl::Duration kLongestWait = absl::Minutes(1);
// How far a run gets beyond its bounds, against how often the agent disturbs what is measured.
constexpr absl::Duration kLookInterval = absl::Milliseconds(500);
// How long after the launcher should have given up on unkillable processes we give up on the launcher.
constexpr absl::Duration kLauncherGrace = absl::Seconds(launch::kKillSeconds + 5);

// One run: reads its pipes, watches its time, and says when it must end.
class RunLoop {
 public:
  // `cgroup` is null where the run has none.
  RunLoop(const RunSpec& spec, LaunchedProcess process, const RunCgroup* cgroup, const CancelToken& cancel,
          int cancel_fd, Clock& clock, absl::FunctionRef<bool(std::string_view)> on_line,
          absl::FunctionRef<void(std::string_view)> on_log)
      : spec_(spec),
        process_(std::move(process)),
        cgroup_(cgroup),
        cancel_(cancel),
        cancel_fd_(cancel_fd),
        clock_(clock),
        on_line_(on_line),
        on_log_(on_log),
        started_(clock.Mono()),
        deadline_(started_ + spec.timeout),
        next_look_(started_),
        out_lines_(spec.limits.line_bytes, LineSplitter::Overlong::kFail),
        err_lines_(spec.limits.line_bytes, LineSplitter::Overlong::kCut),
        buffer_(kReadBytes, '\0') {}

  absl::StatusOr<RunOutcome> Run() {
    while (!reported_ && !lost_) {
      PollOnce();
      LookAtBounds();
      if (clock_.Mono() < deadline_) continue;
      if (stopping_) {
        lost_ = true;
      } else {
        Stop(RunEnd::kTimedOut);
      }
    }
    if (lost_) {
      process_.KillHard(group_);
      if (cgroup_ != nullptr) {
        for (const std::string& folder : cgroup_->folders()) launch::KillCgroup(folder.c_str());
      }
      KillMarked(spec_.mark);
    } else {
      process_.Wait();
    }
    // All writers are gone, or hold the pipes from outside the run: what is there now is all there is.
    Drain();
    if (group_ != 0) return Outcome();
    if (reported_) return StartError(report_, spec_);
    return absl::InternalError("fleetmark-launch ended without a report; is it of this version?");
  }

 private:
  void PollOnce() {
    pollfd fds[] = {{out_open_ ? process_.out() : -1, POLLIN, 0},
                    {err_open_ ? process_.err() : -1, POLLIN, 0},
                    {process_.report(), POLLIN, 0},
                    {cancelled_ ? -1 : cancel_fd_, POLLIN, 0}};
    const MonoTime next = stopping_ ? deadline_ : std::min(deadline_, next_look_);
    const absl::Duration left = std::min(next - clock_.Mono(), kLongestWait);
    // Rounded up, so that the deadline has passed when poll returns.
    const int64_t wait_ms = std::max<int64_t>(0, absl::ToInt64Milliseconds(left) + 1);
    if (poll(fds, 4, static_cast<int>(wait_ms)) <= 0) return;
    if (fds[0].revents != 0) ReadOut();
    if (fds[1].revents != 0) ReadErr();
    if (fds[2].revents != 0) ReadReport();
    if (fds[3].revents != 0) OnCancel();
  }

  void OnCancel() {
    cancelled_ = true;
    fast_ = cancel_.cause() == CancelCause::kGate;
    // One that is being stopped already still has to be gone soon.
    if (stopping_ && fast_) process_.Terminate(true);
    Stop(RunEnd::kCancelled);
  }

  // Bounds that no system call enforces.
  void LookAtBounds() {
    if (stopping_ || clock_.Mono() < next_look_) return;
    next_look_ = clock_.Mono() + (HasBounds() ? kLookInterval : absl::InfiniteDuration());
    if (const std::optional<RunEnd> end = Overrun()) Stop(*end);
  }

  bool HasBounds() const { return cgroup_ != nullptr || spec_.bounds.work_dir_bytes > 0; }

  std::optional<RunEnd> Overrun() const {
    if (cgroup_ != nullptr) {
      const CgroupEvents events = cgroup_->Events();
      if (events.oom_kill) return RunEnd::kOutOfMemory;
      if (events.process_limit) return RunEnd::kTooManyProcesses;
    }
    if (spec_.bounds.work_dir_bytes <= 0) return std::nullopt;
    const std::vector<pid_t> processes = cgroup_ != nullptr ? cgroup_->Processes() : std::vector<pid_t>();
    if (!TakesMoreThan(spec_.work_dir, spec_.bounds.work_dir_bytes, processes)) return std::nullopt;
    return RunEnd::kWorkFolderFull;
  }

  // The first reason stays.
  void Stop(RunEnd why) {
    if (stopping_) return;
    stopping_ = true;
    end_ = why;
    deadline_ = clock_.Mono() + spec_.term_grace + kLauncherGrace;
    process_.Terminate(fast_);
  }

  // Bytes read; 0 at the end of the stream; -1 when there is nothing at the moment.
  ssize_t Read(int fd) {
    ssize_t n;
    do {
      n = read(fd, buffer_.data(), buffer_.size());
    } while (n < 0 && errno == EINTR);
    return n;
  }

  bool ReadOut() {
    const ssize_t n = Read(process_.out());
    if (n == 0) out_open_ = false;
    if (n <= 0) return false;
    if (OutputEnded()) return true;  // read on, so that the plugin does not hang in a write while it ends
    const std::string_view bytes(buffer_.data(), static_cast<size_t>(n));
    out_bytes_ += bytes.size();
    if (out_bytes_ > spec_.limits.total_bytes) {
      Stop(RunEnd::kOutputTooLong);
    } else if (!out_lines_.Feed(bytes, [this](std::string_view line) { OnLine(line); })) {
      Stop(RunEnd::kLineTooLong);
    }
    return true;
  }

  void OnLine(std::string_view line) {
    if (OutputEnded()) return;
    if (++out_line_count_ > spec_.limits.lines) {
      Stop(RunEnd::kOutputTooLong);
    } else if (!on_line_(line)) {
      Stop(RunEnd::kRefused);
    }
  }

  // A run that is stopped for its time or by the token may still say something; one that is stopped for
  // what it said may not.
  bool OutputEnded() const { return stopping_ && end_ != RunEnd::kTimedOut && end_ != RunEnd::kCancelled; }

  bool ReadErr() {
    const ssize_t n = Read(process_.err());
    if (n == 0) err_open_ = false;
    if (n <= 0) return false;
    err_lines_.Feed(std::string_view(buffer_.data(), static_cast<size_t>(n)), on_log_);
    return true;
  }

  void ReadReport() {
    launch::LaunchReport report;
    ssize_t n;
    do {
      n = read(process_.report(), &report, sizeof report);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return;
    if (n != sizeof report || report.version != launch::kVersion) {
      lost_ = true;
    } else if (report.kind == launch::LaunchReport::kStarted) {
      group_ = report.pid;
    } else {
      report_ = report;
      reported_ = true;
    }
  }

  void Drain() {
    for (int i = 0; i < kDrainReads && out_open_ && ReadOut(); ++i) {
    }
    for (int i = 0; i < kDrainReads && err_open_ && ReadErr(); ++i) {
    }
    if (!OutputEnded()) out_lines_.Finish([this](std::string_view line) { OnLine(line); });
    err_lines_.Finish(on_log_);
  }

  RunOutcome Outcome() const {
    RunOutcome outcome;
    outcome.elapsed = clock_.Mono() - started_;
    outcome.exit_status = report_.exit_status;
    outcome.signal = report_.signal;
    outcome.leftovers_killed = report_.leftovers != 0;
    outcome.unkillable = report_.unkillable;
    outcome.usage.cpu = absl::Microseconds(report_.cpu_microseconds);
    outcome.usage.max_rss_bytes = report_.max_rss_bytes;
    outcome.usage.read_bytes = report_.read_bytes;
    outcome.usage.written_bytes = report_.written_bytes;
    outcome.usage.involuntary_switches = report_.involuntary_switches;
    // What the run ran into in its last moments; a shortage of memory also explains why time ran out.
    std::optional<RunEnd> overrun;
    if (!stopping_ || end_ == RunEnd::kTimedOut) overrun = Overrun();
    if (cgroup_ != nullptr) outcome.at_memory_limit = cgroup_->Events().memory_limit;
    if (overrun.has_value() && (!stopping_ || *overrun == RunEnd::kOutOfMemory)) {
      outcome.end = *overrun;
    } else if (stopping_) {
      outcome.end = end_;
    } else if (lost_) {
      outcome.end = RunEnd::kReaperLost;
    } else {
      outcome.end = report_.signal != 0 ? RunEnd::kSignaled : RunEnd::kExited;
    }
    return outcome;
  }

  const RunSpec& spec_;
  LaunchedProcess process_;
  const RunCgroup* const cgroup_;
  const CancelToken& cancel_;
  const int cancel_fd_;
  Clock& clock_;
  const absl::FunctionRef<bool(std::string_view)> on_line_;
  const absl::FunctionRef<void(std::string_view)> on_log_;
  const MonoTime started_;
  MonoTime deadline_;   // of the run; once it is being stopped, of the launcher
  MonoTime next_look_;  // at the bounds
  LineSplitter out_lines_;
  LineSplitter err_lines_;
  std::string buffer_;
  bool out_open_ = true;
  bool err_open_ = true;
  size_t out_bytes_ = 0;
  size_t out_line_count_ = 0;
  bool stopping_ = false;
  bool cancelled_ = false;
  bool fast_ = false;  // it must be gone within a second
  RunEnd end_ = RunEnd::kExited;
  pid_t group_ = 0;        // of the plugin, once it is started
  bool lost_ = false;      // the launcher is gone or does not answer
  bool reported_ = false;  // no process of the run is left
  launch::LaunchReport report_;
};

}  // namespace

absl::StatusOr<RunOutcome> ProcessRunner::Run(const RunSpec& spec,
                                              absl::FunctionRef<bool(std::string_view)> on_line,
                                              absl::FunctionRef<void(std::string_view)> on_log,
                                              CancelToken& cancel) {
  if (spec.command.empty()) return absl::InvalidArgumentError("nothing to run: the command is empty");
  if (cancel.cancelled()) {
    RunOutcome outcome;
    outcome.end = RunEnd::kCancelled;
    return outcome;
  }
  const UniqueFd cancelled(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!cancelled.valid()) return ErrnoStatus(errno, "make an eventfd");
  const CancelToken::Listener listener(cancel, [fd = cancelled.get()] { eventfd_write(fd, 1); });
  std::optional<RunCgroup> cgroup;
  std::vector<std::string> folders;
  if (options_.cgroups != nullptr && !spec.name.empty()) {
    FM_ASSIGN_OR_RETURN(RunCgroup made,
                        options_.cgroups->Make(spec.name, spec.bounds.memory_bytes, spec.bounds.processes));
    folders = made.folders();
    cgroup.emplace(std::move(made));
  }
  const ThrottleWatch throttling(OwnCgroupLayout());
  FM_ASSIGN_OR_RETURN(LaunchedProcess process, LaunchedProcess::Start(options_.launcher, spec, folders));
  if (spec.on_started) spec.on_started(process.pid());
  FM_ASSIGN_OR_RETURN(RunOutcome outcome,
                      RunLoop(spec, std::move(process), cgroup.has_value() ? &*cgroup : nullptr, cancel,
                              cancelled.get(), clock_, on_line, on_log)
                          .Run());
  outcome.throttling = throttling.Read();
  return outcome;
}

}  // namespace fleetmark
