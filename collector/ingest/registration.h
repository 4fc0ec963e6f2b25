// What a collector learns about a node when its agent says hello or its configuration changes.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_INGEST_REGISTRATION_H_
#define FLEETMARK_COLLECTOR_INGEST_REGISTRATION_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"

#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

struct Registration {
  v1::Node node;
  std::vector<v1::Event> events;
};

// `known` is the node as it was stored. Events: the machine has booted; the agent has started, as far as
// that can be told from here: the node is new, or its boot, agent version or epoch has changed. An agent
// that only comes back makes no event; one that restarts says so in a record of its own.
Registration Register(const std::optional<v1::Node>& known, const v1::Hello& hello, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_REGISTRATION_H_
