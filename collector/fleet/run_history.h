// The latest runs of each benchmark on each node, read again where there are new ones: what silence and
// failures are judged by.
//
// Thread-safety: none; belongs to the detection's thread. Ownership: the store must outlive it. Errors: the
// store's. Memory: a few numbers for each benchmark on each node, and each that fails.
#ifndef FLEETMARK_COLLECTOR_FLEET_RUN_HISTORY_H_
#define FLEETMARK_COLLECTOR_FLEET_RUN_HISTORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "collector/fleet/false_alarm_budget.h"
#include "collector/fleet/fleet_snapshot.h"
#include "collector/fleet/node_findings.h"

namespace fleetmark::collector {

class Store;

class RunHistory {
 public:
  // `watching_since`: nothing before it was missed by anybody.
  RunHistory(const Store& store, absl::Time watching_since)
      : store_(store), watching_since_(watching_since) {}

  // Reads the runs of nodes that have new ones, and judges them. `open`: the open findings.
  absl::Status Update(const FleetSnapshot& fleet, absl::Span<const v1::Finding> open,
                      const FalseAlarmBudget& budget, absl::Time now, PopulationState* population);

  std::vector<Silent> SilentNow(const FleetSnapshot& fleet, absl::Time now);
  std::vector<Failing> FailingNow() const;

 private:
  struct LastRuns {
    absl::Time last = absl::InfinitePast();
    absl::Duration longest_gap;
  };
  struct NodeRuns {
    int64_t last_run_unix_ns = -1;  // up to which they were read
    std::map<std::string, LastRuns> benchmarks;
    std::map<std::string, absl::Time> planned;  // since when a benchmark is known to be planned
    absl::Time connected_since = absl::InfiniteFuture();
  };
  using FailingKey = std::tuple<std::string, std::string, bool>;  // node, benchmark, failing or slower

  absl::Status ReadNode(const std::string& node, NodeRuns* runs, const FalseAlarmBudget& budget,
                        double pairs);
  void JudgeBenchmark(const std::string& node, const std::string& benchmark, absl::Span<const RunResult> runs,
                      const FalseAlarmBudget& budget, double pairs);
  // What open findings tell, after a restart.
  void Remember(absl::Span<const v1::Finding> open);

  const Store& store_;
  const absl::Time watching_since_;
  bool remembered_ = false;
  std::map<std::string, NodeRuns> nodes_;
  std::map<FailingKey, Failing> failing_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_RUN_HISTORY_H_
