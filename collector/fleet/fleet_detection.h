// The thread that looks at the fleet as a whole, beside the one that judges single series (detection_loop.h).
// Each pass reads nodes, open findings and what is new from the store, decides by pure functions, and writes
// its findings, its notes in the findings of series, and its state in one synced write:
//
//   every pass      changes joined and decided about, silence, failures of nodes with new runs
//   every hour      the list of series is read again
//   every 6 hours   peers are compared
//
// A pass that fails writes nothing and is tried again at the next one. What a pass concludes follows from the
// store, the live sessions, and how long it has been watching: after a restart nothing counts as silent that
// had no time to be heard.
//
// Memory: nodes with their facts, ids of the series that are alive, and the last run of each benchmark on
// each node. Thread-safety: all methods, any thread. Ownership: store, clock and metrics must outlive it; the
// destructor stops the thread.
#ifndef FLEETMARK_COLLECTOR_FLEET_FLEET_DETECTION_H_
#define FLEETMARK_COLLECTOR_FLEET_FLEET_DETECTION_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class Store;

class FleetDetection {
 public:
  struct Options {
    Store* store = nullptr;
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    double false_alarms_per_week = 1;  // expected, for the whole fleet
    // Sets what is known of a node while it is connected. Empty: as the store has it.
    std::function<void(v1::Node*)> fill_live;
    // Asks a node to run a benchmark, to confirm a finding. Empty: none is asked. Called with no lock held.
    std::function<absl::Status(const v1::RunNowRequest&)> run_now;
    // Called in the loop's thread after a finding about several that opened or closed is stored. May be
    // empty.
    std::function<void(const v1::Finding&)> on_finding;
    absl::Duration interval = absl::Minutes(1);
    absl::Duration series_interval = absl::Hours(1);
    absl::Duration peers_interval = absl::Hours(6);
    size_t max_open_findings = 100'000;  // that a pass looks at
  };

  explicit FleetDetection(Options options);
  ~FleetDetection();
  FleetDetection(const FleetDetection&) = delete;
  FleetDetection& operator=(const FleetDetection&) = delete;

  void Start();
  // Ends the thread. Idempotent.
  void Stop();

  // One pass in the calling thread; for tests and tools, while not started.
  absl::Status RunOnce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_FLEET_DETECTION_H_
