#include "common/run/process_runner.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/run/launched_process.h"
#include "common/run/line_splitter.h"
#include "common/run/marked_processes.h"

namespace fleetmark {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
// More than a pipe holds: a process outside the run that was given the pipe could fill it for ever.
constexpr int kDrainReads = 32;
// poll counts time that stops while the machine sleeps; the clock does not.
constexpr absl::Duration kLongestWait = absl::Minutes(1);
// How long after the launcher should have given up on unkillable processes we give up on the launcher.
constexpr absl::Duration kLauncherGrace = absl::Seconds(launch::kKillSeconds + 5);

// One run: reads its pipes, watches its time, and says when it must end.
class RunLoop {
 public:
  RunLoop(const RunSpec& spec, LaunchedProcess process, int cancel_fd, Clock& clock,
          absl::FunctionRef<bool(std::string_view)> on_line, absl::FunctionRef<void(std::string_view)> on_log)
      : spec_(spec),
        process_(std::move(process)),
        cancel_fd_(cancel_fd),
        clock_(clock),
        on_line_(on_line),
        on_log_(on_log),
        started_(clock.Mono()),
        deadline_(started_ + spec.timeout),
        out_lines_(spec.limits.line_bytes, LineSplitter::Overlong::kFail),
        err_lines_(spec.limits.line_bytes, LineSplitter::Overlong::kCut),
        buffer_(kReadBytes, '\0') {}

  absl::StatusOr<RunOutcome> Run() {
    while (!reported_ && !lost_) {
      PollOnce();
      if (clock_.Mono() < deadline_) continue;
      if (stopping_) {
        lost_ = true;
      } else {
        Stop(RunEnd::kTimedOut);
      }
    }
    if (lost_) {
      process_.KillHard(group_);
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
                    {stopping_ ? -1 : cancel_fd_, POLLIN, 0}};
    const absl::Duration left = std::min(deadline_ - clock_.Mono(), kLongestWait);
    // Rounded up, so that the deadline has passed when poll returns.
    const int64_t wait_ms = std::max<int64_t>(0, absl::ToInt64Milliseconds(left) + 1);
    if (poll(fds, 4, static_cast<int>(wait_ms)) <= 0) return;
    if (fds[0].revents != 0) ReadOut();
    if (fds[1].revents != 0) ReadErr();
    if (fds[2].revents != 0) ReadReport();
    if (fds[3].revents != 0) Stop(RunEnd::kCancelled);
  }

  // The first reason stays.
  void Stop(RunEnd why) {
    if (stopping_) return;
    stopping_ = true;
    end_ = why;
    deadline_ = clock_.Mono() + spec_.term_grace + kLauncherGrace;
    process_.Terminate();
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
    if (stopping_) {
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
  const int cancel_fd_;
  Clock& clock_;
  const absl::FunctionRef<bool(std::string_view)> on_line_;
  const absl::FunctionRef<void(std::string_view)> on_log_;
  const MonoTime started_;
  MonoTime deadline_;  // of the run; once it is being stopped, of the launcher
  LineSplitter out_lines_;
  LineSplitter err_lines_;
  std::string buffer_;
  bool out_open_ = true;
  bool err_open_ = true;
  size_t out_bytes_ = 0;
  size_t out_line_count_ = 0;
  bool stopping_ = false;
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
  FM_ASSIGN_OR_RETURN(LaunchedProcess process, LaunchedProcess::Start(options_.launcher, spec));
  if (spec.on_started) spec.on_started(process.pid());
  return RunLoop(spec, std::move(process), cancelled.get(), clock_, on_line, on_log).Run();
}

}  // namespace fleetmark
