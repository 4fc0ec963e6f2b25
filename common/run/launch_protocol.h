// What passes between ProcessRunner and fleetmark-launch, the reaper of one run. The launcher's standard
// input, output and error are the plugin's; descriptor kControlFd is a socket through which
// it is told to end the run, and which closes when the agent dies; kReportFd takes LaunchReports.
//
// Both programs come from one build; `version` guards an upgrade under a running agent.
//
// Thread-safety: constants and a plain struct.
#ifndef FLEETMARK_COMMON_RUN_LAUNCH_PROTOCOL_H_
#define FLEETMARK_COMMON_RUN_LAUNCH_PROTOCOL_H_

#include <cstdint>
#include <type_traits>

namespace fleetmark::launch {

inline constexpr int kControlFd = 3;
inline constexpr int kReportFd = 4;
inline constexpr char kTerminate = 'T';
// The same with kFastGraceMs instead of the run's grace: somebody waits for the machine.
inline constexpr char kTerminateFast = 'F';
inline constexpr int kFastGraceMs = 300;
inline constexpr uint32_t kVersion = 2;

// How long the launcher tries to kill what is left before it gives up on processes that can't be killed,
// for example those stuck in a disk or driver call.
inline constexpr int kKillSeconds = 10;

// What a program that could not be started failed at.
enum class Step : int32_t {
  kNone,
  kOptions,
  kLauncher,  // pipes, signals, fork
  kLimits,
  kCgroup,
  kAffinity,
  kUser,
  kWorkFolder,
  kExec,
};

// The launcher sends kStarted once the plugin's program is running, and one kEnded when no process of the
// run is left. Without kStarted the kEnded says why nothing could be started.
struct LaunchReport {
  enum Kind : int32_t { kStarted = 1, kEnded = 2 };

  uint32_t version = kVersion;
  Kind kind = kEnded;
  int32_t pid = 0;  // of the plugin, which leads a process group
  Step failed_step = Step::kNone;
  int32_t error_number = 0;
  int32_t exit_status = 0;
  int32_t signal = 0;      // 0: it exited
  int32_t leftovers = 0;   // 1: processes outlived the main one and were killed
  int32_t unkillable = 0;  // how many could not be killed
  int32_t reserved = 0;
  int64_t cpu_microseconds = 0;
  int64_t max_rss_bytes = 0;
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  uint64_t involuntary_switches = 0;
};
static_assert(std::is_trivially_copyable_v<LaunchReport>);
static_assert(sizeof(LaunchReport) <= 512, "a write to a pipe of at most PIPE_BUF bytes is never torn");

}  // namespace fleetmark::launch

#endif  // FLEETMARK_COMMON_RUN_LAUNCH_PROTOCOL_H_
