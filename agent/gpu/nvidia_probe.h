// NVIDIA's GPUs, through NVML.
//
// Thread-safety: none; the probe has one thread.
#ifndef FLEETMARK_AGENT_GPU_NVIDIA_PROBE_H_
#define FLEETMARK_AGENT_GPU_NVIDIA_PROBE_H_

#include <string>
#include <vector>

#include "agent/gpu/probe_gpu.h"

namespace fleetmark::gpu_probe {

// Adds those found. A GPU whose kernel driver holds it but that NVML does not answer for (it fell off the
// bus) is there with an "error". Returns why nothing could be found out; empty also where there is no NVML
// or no driver, which means no such GPUs. May take seconds where no driver state is kept (persistence
// mode), and may hang with the driver.
std::string FindNvidiaGpus(const std::string& root, std::vector<ProbeGpu>* gpus);

}  // namespace fleetmark::gpu_probe

#endif  // FLEETMARK_AGENT_GPU_NVIDIA_PROBE_H_
