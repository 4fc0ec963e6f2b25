// The Runner that starts real processes, each under a fleetmark-launch of its own.
//
// Thread-safety: as Runner says. Ownership: the clock must outlive it.
#ifndef FLEETMARK_COMMON_RUN_PROCESS_RUNNER_H_
#define FLEETMARK_COMMON_RUN_PROCESS_RUNNER_H_

#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/run/cgroup.h"
#include "common/run/runner.h"

namespace fleetmark {

class ProcessRunner final : public Runner {
 public:
  struct Options {
    std::string launcher;                 // path of fleetmark-launch
    const CgroupRoot* cgroups = nullptr;  // null: runs get none; it must outlive this
  };

  ProcessRunner(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // InvalidArgument for a spec without a command. The time limit is measured on the clock, but waits are
  // real.
  absl::StatusOr<RunOutcome> Run(const RunSpec& spec, absl::FunctionRef<bool(std::string_view)> on_line,
                                 absl::FunctionRef<void(std::string_view)> on_log,
                                 CancelToken& cancel) override;

 private:
  const Options options_;
  Clock& clock_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_PROCESS_RUNNER_H_
