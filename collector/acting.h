// The actions of the collector: record, executors, engine and API, joined. A part of the composition root.
//
// Thread-safety: Start and Stop from the owner's thread. Ownership: store, alerting, clock and metrics must
// outlive it.
#ifndef FLEETMARK_COLLECTOR_ACTING_H_
#define FLEETMARK_COLLECTOR_ACTING_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "collector/action_config.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark
namespace fleetmark::v1 {
class Node;
}

namespace fleetmark::collector {

class ActionApi;
class Alerting;
class Store;

class Acting {
 public:
  // `fill_live`: sets whether the node's agent is connected.
  Acting(const ActionsConfig& config, Store& store, const Alerting& alerting,
         std::function<void(v1::Node*)> fill_live, Clock& clock, Metrics& metrics);
  ~Acting();

  // Reads what the store has of actions. Before Start.
  absl::Status Load();
  void Start();
  // Breaks off a call to another system; what was begun goes on at the next start.
  void Stop();

  const ActionApi& api() const;
  // What is in the way of actions, one line each.
  std::vector<std::string> Problems() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTING_H_
