// Runs one program to its end, with bounded time and output, and leaves no process behind.
//
// Thread-safety: a Runner may be used by several threads; each call is independent.
#ifndef FLEETMARK_COMMON_RUN_RUNNER_H_
#define FLEETMARK_COMMON_RUN_RUNNER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/run/cancel_token.h"

namespace fleetmark {

struct RunLimits {
  size_t line_bytes = 64 * 1024;  // of standard output; a longer line of standard error is cut in pieces
  size_t lines = 20'000;
  size_t total_bytes = 16 * 1024 * 1024;
};

// The process is changed to this user; only a runner with the privilege to do so can.
struct RunUser {
  uid_t uid;
  gid_t gid;
};

struct RunSpec {
  std::vector<std::string> command;  // program, absolute or looked up in PATH of `environment`, and arguments
  std::string work_dir;              // the current folder of the program
  std::map<std::string, std::string> environment;  // all of it: nothing is inherited
  // An entry "NAME=value" of `environment` that no other run has. Should somebody kill the run's reaper,
  // its processes are found by it. Empty: then those that left the program's process group may stay.
  std::string mark;
  std::string stdin_text;
  absl::Duration timeout = absl::Minutes(5);
  absl::Duration term_grace = absl::Seconds(2);  // between SIGTERM and SIGKILL
  RunLimits limits;
  int nice = 0;
  std::optional<RunUser> user;
  std::vector<int> cpus;  // empty: any
  std::optional<int64_t> max_open_files;
  std::optional<int64_t> max_processes;  // of the user, as RLIMIT_NPROC counts them
  // Called once, as the run begins, with the process that all of it descends from.
  std::function<void(pid_t reaper)> on_started;
};

enum class RunEnd {
  kExited,
  kSignaled,
  kTimedOut,
  kCancelled,      // by the token
  kOutputTooLong,  // more lines or bytes than the limits
  kLineTooLong,
  kRefused,     // `on_line` returned false
  kReaperLost,  // the run's reaper was killed; how the program ended is not known
};

struct RunUsage {
  absl::Duration cpu;
  int64_t max_rss_bytes = 0;
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  uint64_t involuntary_switches = 0;
};

struct RunOutcome {
  RunEnd end = RunEnd::kExited;
  int exit_status = 0;  // meaningless when `signal` is not 0
  int signal = 0;
  absl::Duration elapsed;
  bool leftovers_killed = false;  // the program left processes running
  int unkillable = 0;             // processes that even SIGKILL did not end within seconds
  RunUsage usage;
};

class Runner {
 public:
  virtual ~Runner() = default;

  // Blocks until the run has ended. `on_line` gets each line of standard output, without its newline, and
  // `on_log` each of standard error, both in this thread; when `on_line` returns false the run is stopped.
  // A last line without a newline counts as one. An error only when nothing was started: a program that
  // fails is a RunOutcome.
  virtual absl::StatusOr<RunOutcome> Run(const RunSpec& spec,
                                         absl::FunctionRef<bool(std::string_view)> on_line,
                                         absl::FunctionRef<void(std::string_view)> on_log,
                                         CancelToken& cancel) = 0;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_RUNNER_H_
