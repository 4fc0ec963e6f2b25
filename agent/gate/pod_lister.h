// What the kubelet has handed to pods, and the seam through which it is asked.
//
// Thread-safety: a PodLister's methods, any thread.
#ifndef FLEETMARK_AGENT_GATE_POD_LISTER_H_
#define FLEETMARK_AGENT_GATE_POD_LISTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::agent {

struct PodDevice {
  std::string resource;  // nvidia.com/gpu, or the driver of a dynamic resource
  std::string id;        // as the device plugin names it
};

struct PodUse {
  std::string space;  // the pod's namespace
  std::string pod;
  std::vector<PodDevice> devices;
  size_t exclusive_cpus = 0;
};

class PodLister {
 public:
  virtual ~PodLister() = default;

  // Pods that hold devices or CPUs of their own. Blocks for `timeout` at most. Unavailable when nobody
  // answers, DeadlineExceeded, Unimplemented, …
  virtual absl::StatusOr<std::vector<PodUse>> List(absl::Duration timeout) = 0;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_POD_LISTER_H_
