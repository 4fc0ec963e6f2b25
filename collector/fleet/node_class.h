// Which nodes ought to perform alike, and what is known of a node that can explain a finding.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_NODE_CLASS_H_
#define FLEETMARK_COLLECTOR_FLEET_NODE_CLASS_H_

#include <string>

#include "collector/fleet/explanation.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

// The operator's label `class` where there is one; else what the hardware is: models, counts and sizes of
// processors, memory and GPUs, and the product. Nodes of which nothing is known are one class, "unknown".
// Software that can be changed is no part of it: it must be able to explain.
std::string NodeClass(const v1::Node& node);

// The rack by the operator's labels (`rack`, or Kubernetes' topology labels); empty if there is none.
std::string NodeRack(const v1::Node& node);

// All facts and labels under their names, `class`, and `agent`, the agent's version. Facts of numbered
// devices that agree on the node are told once: gpu0.driver … gpu7.driver as gpu.driver. Facts that are
// different on every node by their nature (addresses, identifiers, host names) are left out.
Attributes NodeAttributes(const v1::Node& node);

// "gpu.driver" for "gpu3.driver": the name that NodeAttributes uses.
std::string AttributeName(const std::string& fact);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_NODE_CLASS_H_
