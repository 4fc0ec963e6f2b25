// Memory latency: the time of a dependent load from working sets of several sizes, on one CPU.
#include <map>
#include <string>
#include <vector>

#include "plugins/mem_bandwidth/machine.h"
#include "plugins/mem_latency/pointer_chase.h"
#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

using fleetmark::plugin::Plugin;
namespace ml = fleetmark::mem_latency;

// False when the plugin's own check failed.
bool Measure(Plugin& plugin, size_t bytes, size_t loads, int repetitions, fleetmark::plugin::Labels labels) {
  const std::string size = ml::FormatSize(bytes);
  labels["size"] = size;
  const auto chain = ml::Chain::Create(bytes);
  if (!chain) plugin.TryLater("the system gave no memory for " + size);
  if (!chain->IsOneCycle()) {
    plugin.Invalid("the chain of " + size + " is not one cycle: memory holds not what was written");
    return false;
  }
  plugin.Metric("latency", chain->MeasureNanoseconds(loads, repetitions), "ns", labels);
  return true;
}

}  // namespace

int main() {
  Plugin plugin;
  const std::vector<size_t> sizes = ml::ParseSizes(plugin.String("sizes"));
  if (sizes.empty()) plugin.BadParameter("sizes", "must be sizes joined by commas, as 16KiB,8MiB");
  const std::vector<int> cpus = fleetmark::plugin::AllowedCpus();
  if (cpus.empty()) plugin.Fail("the system does not say which CPUs may be used");
  const int64_t loads = plugin.Int("loads");
  const int64_t repetitions = plugin.Int("repetitions");
  if (loads < 1) plugin.BadParameter("loads", "must be at least 1");
  if (repetitions < 1) plugin.BadParameter("repetitions", "must be at least 1");
  // Memory comes from the node of the CPU that first writes it.
  const auto places = plugin.Bool("per_node") ? fleetmark::mem_bandwidth::NumaNodes("/", cpus)
                                              : std::map<int, std::vector<int>>{{-1, cpus}};
  double done = 0;
  for (const auto& [node, node_cpus] : places) {
    if (!fleetmark::plugin::PinThisThread(node_cpus.front())) plugin.Fail("can't pin to a CPU");
    fleetmark::plugin::Labels labels;
    if (node >= 0) labels["numa_node"] = std::to_string(node);
    for (const size_t bytes : sizes) {
      if (!Measure(plugin, bytes, static_cast<size_t>(loads), static_cast<int>(repetitions), labels)) {
        plugin.Done();
        return 0;
      }
      plugin.Progress(++done / static_cast<double>(sizes.size() * places.size()), ml::FormatSize(bytes));
    }
  }
  plugin.Done();
}
