// fleetmark-gpu-probe: tells what GPUs this node has and what they do, then ends. The agent starts it each
// time it wants to know (gpu_reader.h).
//
// A program of its own because an open handle to a GPU keeps its driver from being unloaded and the GPU from
// being reset, and because a call into a broken driver may never return: a child can be given up.
//
// Exit status: 0, also without any GPU; 1 when there is a driver that can't be asked (why: standard error);
// 2 for a wrong option.
#include <cstdio>
#include <cstring>
#include <string>

#include "agent/gpu/amd_probe.h"
#include "agent/gpu/nvidia_probe.h"
#include "agent/gpu/probe_gpu.h"

int main(int argc, char** argv) {
  std::string root;
  if (argc == 3 && strcmp(argv[1], "--root") == 0) {
    root = argv[2];
  } else if (argc != 1) {
    fputs("usage: fleetmark-gpu-probe [--root FOLDER]\n", stderr);
    return 2;
  }
  std::vector<fleetmark::gpu_probe::ProbeGpu> gpus;
  const std::string failure = fleetmark::gpu_probe::FindNvidiaGpus(root, &gpus);
  if (!failure.empty()) {
    fprintf(stderr, "%s\n", failure.c_str());
    return 1;
  }
  fleetmark::gpu_probe::FindAmdGpus(root, &gpus);
  return fleetmark::gpu_probe::Print(std::move(gpus), stdout) ? 0 : 1;
}
