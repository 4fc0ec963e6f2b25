// STREAM's four kernels (J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
// Computers", 1995) over threads that are each pinned to a CPU and own a contiguous share of the arrays.
// The owner of a share touches it first, so that it lies in the memory of the owner's NUMA node.
//
// Thread-safety: functions without state; RunStream starts its threads and joins them.
#ifndef FLEETMARK_PLUGINS_MEM_BANDWIDTH_STREAM_H_
#define FLEETMARK_PLUGINS_MEM_BANDWIDTH_STREAM_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fleetmark::mem_bandwidth {

enum Kernel : size_t { kCopy, kScale, kAdd, kTriad, kKernels };

inline constexpr std::array<const char*, kKernels> kKernelNames = {"copy", "scale", "add", "triad"};
// Words moved for each element, as STREAM counts them: without the reads that a cache does before a write.
inline constexpr std::array<int, kKernels> kKernelWords = {2, 2, 3, 3};

struct Arrays {
  double* a;
  double* b;
  double* c;
};

struct StreamOptions {
  std::vector<int> cpus;  // one thread on each; must not be empty
  size_t elements = 0;    // of each of the three arrays
  int repetitions = 10;   // at least 2; the first is not counted, as STREAM does
};

struct StreamResult {
  std::array<double, kKernels> best_seconds;
  std::string error;  // of the check of the arrays, or of a thread that could not be pinned; empty if right
};

// Empty when there is not the memory for the arrays.
std::optional<StreamResult> RunStream(const StreamOptions& options);

// The share [first, second) of thread `index` of `count`: shares differ by at most one element.
std::pair<size_t, size_t> Share(size_t elements, size_t index, size_t count);

// Sets the elements of [begin, end) to STREAM's first values, with its first kernel to warm up.
void Initialise(const Arrays& arrays, size_t begin, size_t end);

void RunKernel(Kernel kernel, const Arrays& arrays, size_t begin, size_t end);

// What each element of a, b and c is after Initialise and so many repetitions of the four kernels.
std::array<double, 3> ExpectedValues(int repetitions);

// STREAM's check: the average relative error of each array is below 1e-13. The message, or empty if right.
std::string CheckArrays(const Arrays& arrays, size_t elements, int repetitions);

}  // namespace fleetmark::mem_bandwidth

#endif  // FLEETMARK_PLUGINS_MEM_BANDWIDTH_STREAM_H_
