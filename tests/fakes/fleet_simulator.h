// A fleet that writes to a real Store what agents would send: nodes with facts, labels and a plan, and runs
// of two benchmarks, "stream" (one value a node) and "gemm" (one a device, where there are devices). Nodes
// differ from one another by `node_spread`, runs by `noise`, and whatever a test adds as an effect.
//
// Thread-safety: none. The same seed gives the same fleet. Errors: a store that can't be written ends the
// process.
#ifndef FLEETMARK_TESTS_FAKES_FLEET_SIMULATOR_H_
#define FLEETMARK_TESTS_FAKES_FLEET_SIMULATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/store/store.h"

namespace fleetmark::collector {

struct SimulatedRun {
  std::string node;
  size_t index = 0;  // of the node
  std::string benchmark;
  std::string device;  // empty for stream
  absl::Time time;
};

class FleetSimulator {
 public:
  struct Options {
    size_t nodes = 40;
    size_t rack_size = 10;
    size_t devices = 0;
    double node_spread = 0.01;
    double device_spread = 0.003;
    double noise = 0.004;
    double correlation = 0;  // of a series' noise from one run to the next
    absl::Duration interval = absl::Hours(1);
    uint32_t seed = 1;
  };

  FleetSimulator(Store& store, const Options& options);

  // Multiplies values; 1 leaves them. All that apply do.
  using Effect = std::function<double(const SimulatedRun&)>;
  void AddEffect(Effect effect) { effects_.push_back(std::move(effect)); }
  // The outcome of a run; OK without it.
  void SetOutcome(std::function<v1::Outcome(const SimulatedRun&)> outcome) { outcome_ = std::move(outcome); }
  // Runs that are not made at all.
  void SetMissing(std::function<bool(const SimulatedRun&)> missing) { missing_ = std::move(missing); }
  void SetDuration(std::function<double(const SimulatedRun&)> seconds) { seconds_ = std::move(seconds); }
  void SetPluginVersion(const std::string& version) { plugin_version_ = version; }

  static std::string Name(size_t node) { return "n" + std::to_string(node); }

  // Writes a node as it is registered: before the first runs, and again after a fact of it has changed.
  void SetFact(size_t node, const std::string& name, const std::string& value) { facts_[node][name] = value; }
  void Register(size_t node);
  void RegisterAll();
  // A changed fact with its event.
  void ChangeFact(size_t node, const std::string& name, const std::string& value, absl::Time time);

  // The runs that are due in [from, to).
  void Run(absl::Time from, absl::Time to);
  // One run of a benchmark on a node now, as the collector asked for it.
  void RunNow(const std::string& node, const std::string& benchmark, absl::Time time);

 private:
  void AddRun(size_t node, const std::string& benchmark, absl::Time time, v1::Trigger trigger,
              SenderRecords* sender);
  double Value(const SimulatedRun& run, double level);

  Store& store_;
  const Options options_;
  std::mt19937 random_;
  std::vector<double> node_levels_;
  std::vector<double> device_levels_;
  std::map<std::string, double> noise_;  // by node, benchmark and device: the last, in standard deviations
  std::vector<std::map<std::string, std::string>> facts_;
  std::vector<uint64_t> sequences_;
  std::vector<Effect> effects_;
  std::function<v1::Outcome(const SimulatedRun&)> outcome_;
  std::function<bool(const SimulatedRun&)> missing_;
  std::function<double(const SimulatedRun&)> seconds_;
  std::string plugin_version_ = "1.0";
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_FAKES_FLEET_SIMULATOR_H_
