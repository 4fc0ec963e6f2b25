// The section `gate:` of the agent's configuration, and the sources that it asks for.
//
// Thread-safety: plain data, functions without state.
#ifndef FLEETMARK_AGENT_GATE_GATE_CONFIG_H_
#define FLEETMARK_AGENT_GATE_GATE_CONFIG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gate/slurm_source.h"
#include "common/config/yaml_reader.h"

namespace fleetmark::agent {

struct GateConfig {
  absl::Duration cool_down;
  absl::Duration retry_after;
  bool slurm = false;
  SlurmSource::Options slurm_options;
};

// What is not said about Slurm is found: whether it is here at all, from slurm.conf, and slurmd's folder in
// that file.
GateConfig ReadGateSection(YamlValue gate);

std::vector<std::unique_ptr<GateSource>> MakeGateSources(const GateConfig& config, Runner& runner,
                                                         Clock& clock);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_GATE_CONFIG_H_
