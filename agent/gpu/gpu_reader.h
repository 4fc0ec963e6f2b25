// What GPUs the node has and what they do, told by a short-lived child, fleetmark-gpu-probe: an open handle
// would keep a GPU from being reset and its driver from being unloaded, and a broken driver may hang whoever
// asks it.
//
// One reading costs the start of two processes (the launcher and the probe) and what the driver takes to
// answer: milliseconds where its state is kept (persistence mode, or a GPU in use), seconds where it is not.
//
// Thread-safety: any thread; each reading is independent. Ownership: the runner outlives the reader.
#ifndef FLEETMARK_AGENT_GPU_GPU_READER_H_
#define FLEETMARK_AGENT_GPU_GPU_READER_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "agent/gpu/gpu.h"
#include "common/run/cancel_token.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

// A process that computes on a GPU.
struct GpuProcess {
  pid_t pid = 0;     // in the probe's process namespace, if the driver could tell that
  std::string name;  // empty when there is no such process here
};

struct GpuState {
  Gpu gpu;
  std::string error;                         // not empty: the GPU is there but does not answer
  std::map<std::string, std::string> facts;  // without the GPU's name: model, driver, vbios, …
  bool processes_known = false;
  std::vector<GpuProcess> processes;
  std::optional<double> utilization;  // of time, 0 to 1
  std::optional<double> temperature_c;
  std::optional<double> clock_mhz;
  std::vector<std::string> throttle_reasons;
};

class GpuReader {
 public:
  struct Options {
    std::vector<std::string> command;                // the probe and its arguments
    std::map<std::string, std::string> environment;  // all of it
    absl::Duration timeout = absl::Seconds(15);
  };

  GpuReader(Options options, Runner& runner) : options_(std::move(options)), runner_(runner) {}

  // In the order of the PCI addresses, and named gpu0, gpu1, … in that order; none where there are none.
  // Blocks until the probe has ended, at most the time limit and the runner's grace.
  // DeadlineExceeded: the probe hung. Cancelled: by the token. Unavailable: it failed, with what it said.
  // Internal: its answer makes no sense. NotFound and others: it can't be started.
  absl::StatusOr<std::vector<GpuState>> Read(CancelToken& cancel);
  absl::StatusOr<std::vector<GpuState>> Read();

 private:
  const Options options_;
  Runner& runner_;
};

// The probe in `folder`, with what of this process's environment finds the driver's library.
GpuReader::Options ProbeBeside(const std::string& folder);

// The lines of a probe's answer. Internal when it is cut or malformed.
absl::StatusOr<std::vector<GpuState>> ParseProbe(const std::vector<std::string>& lines);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GPU_GPU_READER_H_
