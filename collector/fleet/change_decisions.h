// Which changes of single series may become alerts: compares their p-values with the budget of false alarms,
// follows the evidence that later runs bring (confirmation.h), and asks for such runs where that helps.
//
// Every run after the finding is evidence, whether it was asked for or scheduled. A request goes to the
// suspect, and to a healthy peer of its class, through the path that people's "run now" takes: the node's
// gate and its budget of benchmark time hold for it.
//
// Thread-safety: none; belongs to the detection's thread. Ownership: `store` and `fleet` must outlive it.
// Errors: the store's. A request that is refused is no error; it is tried again in a later pass.
#ifndef FLEETMARK_COLLECTOR_FLEET_CHANGE_DECISIONS_H_
#define FLEETMARK_COLLECTOR_FLEET_CHANGE_DECISIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/fleet/false_alarm_budget.h"
#include "collector/fleet/fleet_snapshot.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class Store;

class ChangeDecisions {
 public:
  struct Options {
    const Store* store = nullptr;
    // Asks a node to run a benchmark now. May be empty: no runs are asked for.
    std::function<absl::Status(const v1::RunNowRequest&)> run_now;
    double candidate_limit = 0.01;  // p-values above it are no candidates
    uint32_t max_requests = 6;      // for one finding
    int max_requests_an_hour = 30;  // for the fleet
    absl::Duration between_requests = absl::Minutes(5);
    absl::Duration ask_within = absl::Hours(24);  // of the finding; older ones are settled by scheduled runs
  };

  explicit ChangeDecisions(Options options) : options_(std::move(options)) {}

  // Begins a pass. `state` keeps the times of requests.
  void Begin(const FleetSnapshot& fleet, const FalseAlarmBudget& budget, double population, absl::Time now,
             FleetState* state);

  // Brings a finding's notes up to date; true when they changed.
  absl::StatusOr<bool> Decide(v1::Finding& finding);

  // Asks for runs where the finding awaits evidence; true when it did. Not for those that belong to a group
  // of several nodes, which confirm one another.
  bool AskForRuns(v1::Finding& finding);

 private:
  struct Evidence {
    std::vector<double> history;
    std::vector<double> reruns;
    std::vector<double> peer_history;
    std::vector<double> peer_reruns;
  };
  absl::StatusOr<double> LevelOf(const v1::Finding& finding) const;
  absl::StatusOr<Evidence> ReadEvidence(const v1::Finding& finding) const;
  absl::Status ReadPeer(const v1::Finding& finding, int64_t since_unix_ns, Evidence* evidence) const;
  std::string ChoosePeer(const v1::Finding& finding) const;
  // The series of `node` that measures the same.
  std::optional<uint64_t> SeriesOn(const std::string& node, const v1::SeriesKey& key) const;
  bool Request(const std::string& node, const v1::Finding& finding);

  const Options options_;
  const FleetSnapshot* fleet_ = nullptr;
  const FalseAlarmBudget* budget_ = nullptr;
  double population_ = 1;
  absl::Time now_;
  FleetState* state_ = nullptr;
  std::set<std::pair<std::string, std::string>> asked_;  // node and benchmark, in this pass
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_CHANGE_DECISIONS_H_
