// What fleetmark-gpu-probe found of one GPU, and how it tells the agent: lines "key=value", where "gpu=" with
// the PCI address begins a GPU and "end=" with their number ends all, so that a cut answer is seen as one.
//
// Thread-safety: none; the probe has one thread. Uses the C and C++ libraries alone.
#ifndef FLEETMARK_AGENT_GPU_PROBE_GPU_H_
#define FLEETMARK_AGENT_GPU_PROBE_GPU_H_

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace fleetmark::gpu_probe {

struct ProbeGpu {
  std::string pci_address;  // 0000:3b:00.0
  std::vector<std::pair<std::string, std::string>> lines;

  // An empty value is none.
  void Add(const std::string& key, const std::string& value) {
    if (!value.empty()) lines.emplace_back(key, value);
  }
};

// The whole file under `root`, without white space at its ends; empty when it can't be read.
std::string ReadText(const std::string& path);
std::vector<std::string> ListFolder(const std::string& path);  // sorted, without those that begin with a dot

// "1234 name": how a process on a GPU is told.
std::string DescribeProcess(const std::string& root, long pid);

// Sorted by PCI address. False when standard output does not take it.
bool Print(std::vector<ProbeGpu> gpus, FILE* out);

}  // namespace fleetmark::gpu_probe

#endif  // FLEETMARK_AGENT_GPU_PROBE_GPU_H_
