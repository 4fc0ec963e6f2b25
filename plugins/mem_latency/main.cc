// Memory latency: the time of a dependent load from working sets of several sizes, on one CPU.
#include <string>
#include <vector>

#include "plugins/mem_latency/pointer_chase.h"
#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

using fleetmark::plugin::Plugin;
namespace ml = fleetmark::mem_latency;

// False when the plugin's own check failed.
bool Measure(Plugin& plugin, size_t bytes, size_t loads, int repetitions) {
  const std::string size = ml::FormatSize(bytes);
  const auto chain = ml::Chain::Create(bytes);
  if (!chain) plugin.TryLater("the system gave no memory for " + size);
  if (!chain->IsOneCycle()) {
    plugin.Invalid("the chain of " + size + " is not one cycle: memory holds not what was written");
    return false;
  }
  plugin.Metric("latency", chain->MeasureNanoseconds(loads, repetitions), "ns", {{"size", size}});
  return true;
}

}  // namespace

int main() {
  Plugin plugin;
  const std::vector<size_t> sizes = ml::ParseSizes(plugin.String("sizes"));
  if (sizes.empty()) plugin.BadParameter("sizes", "must be sizes joined by commas, as 16KiB,8MiB");
  const std::vector<int> cpus = fleetmark::plugin::AllowedCpus();
  if (cpus.empty() || !fleetmark::plugin::PinThisThread(cpus.front())) plugin.Fail("can't pin to a CPU");
  const int64_t loads = plugin.Int("loads");
  const int64_t repetitions = plugin.Int("repetitions");
  if (loads < 1) plugin.BadParameter("loads", "must be at least 1");
  if (repetitions < 1) plugin.BadParameter("repetitions", "must be at least 1");
  double done = 0;
  for (const size_t bytes : sizes) {
    if (!Measure(plugin, bytes, static_cast<size_t>(loads), static_cast<int>(repetitions))) break;
    plugin.Progress(++done / static_cast<double>(sizes.size()), ml::FormatSize(bytes));
  }
  plugin.Done();
}
