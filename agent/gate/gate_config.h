// The section `gate` of the agent's configuration, and the sources that it describes.
//
// Thread-safety: functions without state. Faults are noted in the YamlValue's reader.
#ifndef FLEETMARK_AGENT_GATE_GATE_CONFIG_H_
#define FLEETMARK_AGENT_GATE_GATE_CONFIG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gate/gpu_source.h"
#include "agent/gate/pod_lister.h"
#include "agent/gate/pod_resources_source.h"
#include "agent/gate/pods_source.h"
#include "agent/gate/pressure_source.h"
#include "agent/gate/slurm_source.h"
#include "agent/gate/users_source.h"
#include "common/base/clock.h"
#include "common/config/yaml_reader.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

struct GateConfig {
  absl::Duration cool_down = absl::Seconds(5);  // from the end of a run to the next
  absl::Duration retry = absl::Seconds(30);     // from an answer that is not "free" to the next question
  PressureSource::Options pressure;
  UsersSource::Options users;
  SlurmSource::Options slurm;
  PodResourcesSource::Options pod_resources;
  PodsSource::Options pods;
  bool gpus_enabled = true;
  GpuSource::Options gpus;  // without `read`
};

// Relative paths start at `folder`.
GateConfig ReadGateSection(YamlValue gate, const std::string& folder);

// What the sources ask; outlives them.
struct GateParts {
  Runner& runner;
  PodLister& kubelet;
  GpuReader& gpus;
  Clock& clock;
};

// Those that are not switched off, the cheapest first.
std::vector<std::unique_ptr<GateSource>> MakeGateSources(const GateConfig& config, const GateParts& parts);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_GATE_CONFIG_H_
