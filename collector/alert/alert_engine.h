// Makes alerts of findings and lives them on: a thread that looks every few seconds, and at once when told,
// at the open findings, decides by pure functions (alert_cause.h, inhibition.h, alert_routes.h,
// alert_life.h), and writes the alerts that changed, their history, and the notices that are due, in one
// synced write each. Only then are the notices handed on, so that a crash at any moment neither loses nor
// doubles one.
//
// Memory: the alerts that are not resolved, and those that may yet be opened again, with the open findings.
// Thread-safety: all methods, any thread. Writers take turns, for the time of the write too; readers never
// wait for it. `on_notices` is called within a writer's turn, so that notices come in their order: it must
// only take them, and not call back.
// Ownership: store, clock and metrics must outlive it; the destructor stops the thread.
// Errors: those of the store; a pass that fails is tried again.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_ENGINE_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_ENGINE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/alert/alert_content.h"
#include "collector/alert/alert_life.h"
#include "collector/alert/alert_routes.h"
#include "collector/store/alert_tables.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class Store;

class AlertEngine {
 public:
  struct Options {
    Store* store = nullptr;
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    AlertPolicy policy;
    absl::Duration repeat_silent = absl::Hours(4);  // of alerts about silence, instead of the policy's
    std::vector<AlertRoute> routes;
    std::vector<std::string> receivers;  // all that there are
    AlertLinks links;
    std::function<void(std::vector<StoredNotice>)> on_notices;
    absl::Duration interval = absl::Seconds(5);
    absl::Duration keep_resolved = absl::Hours(24 * 730);
    size_t max_open_findings = 100'000;
    size_t max_waiting = 10'000;  // notices of one receiver; further ones are given up at once, and counted
    size_t max_dead = 1'000;      // of one receiver that are kept; then the oldest are removed
  };

  explicit AlertEngine(Options options);
  ~AlertEngine();
  AlertEngine(const AlertEngine&) = delete;
  AlertEngine& operator=(const AlertEngine&) = delete;

  // Reads what the store has, and hands on the notices that wait. Before all else.
  absl::Status Load();
  void Start();
  void Stop();

  // There may be news among the findings.
  void Notify();
  // One pass in the calling thread, while not started.
  absl::Status RunOnce();

  // As of now, newest first: those that are not resolved, or were not long ago.
  std::vector<std::shared_ptr<const v1::Alert>> Current() const;
  // By its id or the last characters of it. NotFound; InvalidArgument when several end so.
  absl::StatusOr<v1::Alert> Find(const std::string& id) const;

  absl::StatusOr<v1::Alert> Acknowledge(const v1::AckAlertRequest& request);

  // Gives it its id. The open alerts that it matches.
  absl::StatusOr<v1::AddSilenceResponse> AddSilence(v1::Silence silence);
  absl::Status EndSilence(const v1::EndSilenceRequest& request);
  std::vector<v1::Silence> Silences() const;

  // The notice reached its receiver, or was given up; `text` says how. After an error it still waits.
  absl::Status Finish(const StoredNotice& stored, bool delivered, const std::string& text);

  // Those that fire and of which this receiver was told.
  std::vector<std::shared_ptr<const v1::Alert>> ToldTo(const std::string& receiver) const;

  // Notices that were given up and are kept.
  size_t DeadOf(const std::string& receiver) const;

  // From the next pass on. InvalidArgument when they name a receiver that there is not; then the old ones
  // stay.
  absl::Status SetRoutes(std::vector<AlertRoute> routes);
  std::shared_ptr<const std::vector<AlertRoute>> routes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_ENGINE_H_
