// The PodLister that asks the kubelet's PodResources API over its Unix socket.
//
// A channel lives for one question: at rest there is no connection, no thread and no wake-up, and a kubelet
// that was restarted is found again at once.
//
// Thread-safety: as PodLister says.
#ifndef FLEETMARK_AGENT_GATE_KUBELET_CLIENT_H_
#define FLEETMARK_AGENT_GATE_KUBELET_CLIENT_H_

#include <string>
#include <utility>
#include <vector>

#include "agent/gate/pod_lister.h"

namespace fleetmark::agent {

class KubeletClient final : public PodLister {
 public:
  explicit KubeletClient(std::string socket) : socket_(std::move(socket)) {}

  absl::StatusOr<std::vector<PodUse>> List(absl::Duration timeout) override;

 private:
  const std::string socket_;  // path
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_KUBELET_CLIENT_H_
