// The alerts of the collector: engine, notifier and API, joined. A part of the composition root.
//
// Thread-safety: Start and Stop from the owner's thread; the rest as AlertEngine.
// Ownership: store, clock and metrics must outlive it.
#ifndef FLEETMARK_COLLECTOR_ALERTING_H_
#define FLEETMARK_COLLECTOR_ALERTING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "collector/alert_config.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class AlertApi;
class Store;

class Alerting {
 public:
  Alerting(const AlertsConfig& config, Store& store, Clock& clock, Metrics& metrics);
  ~Alerting();

  // Reads what the store has of alerts. Before Start.
  absl::Status Load();
  void Start();
  // New alerts first, then what is being sent is broken off and stays in the queue.
  void Stop();

  // There may be news among the findings.
  void Notify();
  const AlertApi& api() const;
  // As AlertEngine::Current.
  std::vector<std::shared_ptr<const v1::Alert>> Current() const;
  // Receivers that can't be told, one line each.
  std::vector<std::string> Problems() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERTING_H_
