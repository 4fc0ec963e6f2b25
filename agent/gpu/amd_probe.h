// AMD's GPUs, from what the amdgpu and kfd drivers show in sysfs.
//
// Thread-safety: none; the probe has one thread.
#ifndef FLEETMARK_AGENT_GPU_AMD_PROBE_H_
#define FLEETMARK_AGENT_GPU_AMD_PROBE_H_

#include <string>
#include <vector>

#include "agent/gpu/probe_gpu.h"

namespace fleetmark::gpu_probe {

// Adds those found under `root`; none where there are none.
void FindAmdGpus(const std::string& root, std::vector<ProbeGpu>* gpus);

}  // namespace fleetmark::gpu_probe

#endif  // FLEETMARK_AGENT_GPU_AMD_PROBE_H_
