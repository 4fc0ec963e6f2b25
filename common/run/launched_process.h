// A fleetmark-launch that was started for a run, with this end of its pipes.
//
// Thread-safety: one thread's at a time. Ownership: owns the descriptors and the child process, which it
// kills and waits for in its destructor if that has not been done.
#ifndef FLEETMARK_COMMON_RUN_LAUNCHED_PROCESS_H_
#define FLEETMARK_COMMON_RUN_LAUNCHED_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

#include "common/base/file.h"
#include "common/run/launch_protocol.h"
#include "common/run/runner.h"

namespace fleetmark {

class LaunchedProcess {
 public:
  // Starts `launcher` for `spec`. NotFound or PermissionDenied when there is no such launcher;
  // ResourceExhausted when the system has no processes or descriptors left.
  static absl::StatusOr<LaunchedProcess> Start(const std::string& launcher, const RunSpec& spec);

  LaunchedProcess(LaunchedProcess&& other) noexcept;
  LaunchedProcess& operator=(LaunchedProcess&&) = delete;
  ~LaunchedProcess();

  // All but `control` are for reading and do not block.
  int out() const { return out_.get(); }
  int err() const { return err_.get(); }
  int report() const { return report_.get(); }
  pid_t pid() const { return pid_; }

  // Asks the launcher to end the run: SIGTERM to all its processes, then after the grace SIGKILL.
  void Terminate();

  // Waits for the launcher to end, which it does right after its last report.
  void Wait();

  // For when the launcher is gone or does not answer: kills it and the process group `group` (0: none).
  void KillHard(pid_t group);

 private:
  LaunchedProcess() = default;

  pid_t pid_ = 0;
  UniqueFd control_;
  UniqueFd out_;
  UniqueFd err_;
  UniqueFd report_;
};

// Why a launcher's report says that nothing was started.
absl::Status StartError(const launch::LaunchReport& report, const RunSpec& spec);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_LAUNCHED_PROCESS_H_
