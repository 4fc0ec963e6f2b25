// What held around one run and explains its result: heat, clocks, throttling, pressure, errors of the memory.
// Facts say what the node is; conditions what it went through. docs/facts.md lists them.
//
// Names end in `_before` or `_after` for a state at that time; the others are changes over the run, of the
// whole machine, the run's own doings included.
//
// Cost: reads of /proc and /sys before and after, a few milliseconds on a large machine; with GPUs one start
// of the probe each time (gpu_reader.h).
//
// Thread-safety: const methods, any thread. Ownership: clock and what the callback uses outlive it.
// Errors: none; what can't be read is left out.
#ifndef FLEETMARK_AGENT_FACTS_CONDITIONS_H_
#define FLEETMARK_AGENT_FACTS_CONDITIONS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "agent/facts/sources.h"
#include "agent/gpu/gpu_reader.h"
#include "common/base/clock.h"

namespace fleetmark::agent {

struct Conditions {
  MonoTime at;
  std::map<std::string, std::string> states;
  std::map<std::string, double> counters;  // since boot
  std::vector<std::string> gpus;           // the run's
};

class ConditionsProbe {
 public:
  static constexpr size_t kMaxConditions = 40;

  struct Options {
    std::string root = "/";
    std::function<absl::StatusOr<std::vector<GpuState>>()> gpus;  // none: no conditions of GPUs
  };

  ConditionsProbe(Options options, Clock& clock)
      : options_(std::move(options)), sources_(options_.root), clock_(clock) {}

  // Just before the run that uses the GPUs with these names.
  Conditions Before(const std::vector<std::string>& gpus = {}) const;

  // Just after it. By name, at most kMaxConditions.
  std::map<std::string, std::string> After(const Conditions& before) const;

 private:
  void AddGpus(const std::vector<std::string>& names, const std::string& suffix,
               std::map<std::string, std::string>& states) const;

  const Options options_;
  const FactSources sources_;
  Clock& clock_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_CONDITIONS_H_
