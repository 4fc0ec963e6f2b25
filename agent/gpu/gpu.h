// A GPU of this node, as facts, gate and runs speak of it.
//
// Thread-safety: plain values.
#ifndef FLEETMARK_AGENT_GPU_GPU_H_
#define FLEETMARK_AGENT_GPU_GPU_H_

#include <string>

namespace fleetmark::agent {

struct Gpu {
  std::string name;         // gpu0, gpu1, … in the order of the PCI addresses
  std::string vendor;       // nvidia, amd
  std::string uuid;         // as the vendor's tools write it, "GPU-…"; may be empty
  std::string pci_address;  // 0000:3b:00.0
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GPU_GPU_H_
