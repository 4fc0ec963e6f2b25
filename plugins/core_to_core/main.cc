// Core-to-core latency: the time for a cache line to go from one CPU to another.
#include <algorithm>
#include <string>
#include <vector>

#include "plugins/core_to_core/ping_pong.h"
#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/fleetmark_plugin.h"

namespace {

using fleetmark::plugin::Plugin;
namespace cc = fleetmark::core_to_core;

std::string NameOf(cc::Pair pair) { return std::to_string(pair.first) + "-" + std::to_string(pair.second); }

// The fault ends the program, but for a wrong number: then nothing of the run may be used, and false is
// returned.
bool Check(Plugin& plugin, cc::Pair pair, cc::Fault fault) {
  switch (fault) {
    case cc::Fault::kNone:
      return true;
    case cc::Fault::kNotPinned:
      plugin.Fail("can't pin to CPUs " + NameOf(pair));
    case cc::Fault::kTooSlow:
      plugin.TryLater("CPUs " + NameOf(pair) +
                      " did not answer one another for ten seconds: they are not free");
    case cc::Fault::kWrong:
      plugin.Invalid("CPUs " + NameOf(pair) + " read a number that the other had not written");
  }
  return false;
}

}  // namespace

int main() {
  Plugin plugin;
  const int64_t most = plugin.Int("max_pairs");
  const int64_t rounds = plugin.Int("rounds");
  const int64_t repetitions = plugin.Int("repetitions");
  if (most < 1 || most > 900) plugin.BadParameter("max_pairs", "must be 1 to 900");
  if (rounds < 100) plugin.BadParameter("rounds", "must be at least 100");
  if (repetitions < 1 || repetitions > 1000) plugin.BadParameter("repetitions", "must be 1 to 1000");
  const std::vector<int> cpus = fleetmark::plugin::AllowedCpus();
  const std::vector<cc::Pair> pairs = cc::ChoosePairs(cpus, static_cast<size_t>(most));
  if (pairs.empty()) plugin.Skip("there is one CPU only");

  std::vector<double> latencies;
  for (const cc::Pair& pair : pairs) {
    const cc::PairResult result = cc::MeasurePair(pair, rounds, static_cast<int>(repetitions));
    if (!Check(plugin, pair, result.fault)) break;
    plugin.Metric("latency", result.nanoseconds, "ns", {{"pair", NameOf(pair)}});
    latencies.push_back(result.nanoseconds);
    plugin.Progress(static_cast<double>(latencies.size()) / static_cast<double>(pairs.size()), NameOf(pair));
  }
  if (!latencies.empty()) {
    std::sort(latencies.begin(), latencies.end());
    const size_t half = latencies.size() / 2;
    const double median =
        latencies.size() % 2 == 1 ? latencies[half] : (latencies[half - 1] + latencies[half]) / 2;
    plugin.Metric("latency_median", median, "ns");
    plugin.Metric("latency_max", latencies.back(), "ns");
  }
  plugin.Done();
}
