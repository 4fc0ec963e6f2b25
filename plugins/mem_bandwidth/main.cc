// Memory bandwidth: STREAM's kernels over all CPUs that the process may use.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plugins/mem_bandwidth/machine.h"
#include "plugins/mem_bandwidth/stream.h"
#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

using fleetmark::plugin::Labels;
using fleetmark::plugin::Plugin;
namespace mb = fleetmark::mem_bandwidth;

constexpr size_t kMaxCacheBytesPerCpu = size_t{32} << 20;

// Virtual machines often hide the caches from the kernel's files. The C library then asks the processor,
// which may answer for the whole host: no CPU has more than the cap to itself.
size_t CacheBytes(const std::vector<int>& cpus) {
  if (const size_t bytes = mb::LastLevelCacheBytes("/", cpus); bytes > 0) return bytes;
  const size_t most = kMaxCacheBytesPerCpu * cpus.size();
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? std::min(static_cast<size_t>(bytes), most) : most;
}

size_t ArrayBytes(Plugin& plugin, const std::vector<int>& cpus) {
  const size_t available = mb::AvailableMemoryBytes("/");
  size_t bytes = static_cast<size_t>(plugin.Int("array_bytes"));
  if (bytes == 0) {
    const size_t cache = CacheBytes(cpus);
    bytes = mb::ChooseArrayBytes(cache, available);
    if (bytes < 4 * cache) {
      plugin.Log("the arrays are limited by free memory to less than four times the last-level caches of " +
                 std::to_string(cache >> 20) + " MiB");
    }
  }
  if (available > 0 && 3 * bytes > available / 10 * 9) {
    plugin.TryLater("three arrays of " + std::to_string(bytes >> 20) + " MiB do not fit into the " +
                    std::to_string(available >> 20) + " MiB of available memory");
  }
  return bytes;
}

// False when the plugin's own check failed.
bool Measure(Plugin& plugin, const std::vector<int>& cpus, size_t array_bytes, const Labels& labels) {
  mb::StreamOptions options{.cpus = cpus, .elements = array_bytes / sizeof(double)};
  options.repetitions = static_cast<int>(plugin.Int("repetitions"));
  plugin.Log("3 arrays of " + std::to_string(array_bytes >> 20) + " MiB, " + std::to_string(cpus.size()) +
             " threads, " + std::to_string(options.repetitions) + " repetitions");
  const auto result = mb::RunStream(options);
  if (!result) plugin.TryLater("the system gave no memory for the arrays");
  if (!result->error.empty()) {
    plugin.Invalid(result->error);
    return false;
  }
  for (size_t kernel = 0; kernel < mb::kKernels; ++kernel) {
    const double bytes = static_cast<double>(options.elements * sizeof(double)) * mb::kKernelWords[kernel];
    plugin.Metric(mb::kKernelNames[kernel], bytes / result->best_seconds[kernel] / 1e9, "GB/s", labels);
  }
  return true;
}

}  // namespace

int main() {
  Plugin plugin;
  const std::vector<int> cpus = fleetmark::plugin::AllowedCpus();
  if (cpus.empty()) plugin.Fail("the system does not say which CPUs may be used");
  if (plugin.Int("repetitions") < 2) plugin.BadParameter("repetitions", "must be at least 2");
  const size_t array_bytes = ArrayBytes(plugin, cpus);
  if (array_bytes < cpus.size() * sizeof(double)) plugin.BadParameter("array_bytes", "is too small");
  if (plugin.Bool("per_node")) {
    const auto nodes = mb::NumaNodes("/", cpus);
    double done = 0;
    for (const auto& [node, node_cpus] : nodes) {
      if (!Measure(plugin, node_cpus, array_bytes / nodes.size(), {{"numa_node", std::to_string(node)}}))
        break;
      plugin.Progress(++done / static_cast<double>(nodes.size()));
    }
  } else {
    Measure(plugin, cpus, array_bytes, {});
  }
  plugin.Done();
}
