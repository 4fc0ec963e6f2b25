// What benchmarks take of each node's time over a week, by the agents' own schedules and ledgers.
//
// A node runs one benchmark at a time, in the order in which they were due; a run waits for the budget, and
// what comes later waits with it, as the scheduler has it. How long runs take is drawn: a base for each
// benchmark, a factor for each node, a tenth of noise, and one run in a hundred three times as long.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_BENCH_SCHEDULE_BUDGET_WEEK_H_
#define FLEETMARK_BENCH_SCHEDULE_BUDGET_WEEK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::bench {

struct BudgetWeek {
  uint64_t runs = 0;
  uint64_t asked = 0;        // runs that the schedules asked for
  double mean_share = 0;     // of the nodes' time
  double largest_share = 0;  // the node that spent most, over the whole span
  double largest_day = 0;    // the same in the worst 24 h of any node, wherever they begin
  absl::Duration longest_run;
  int nodes_over = 0;      // that spent more than `share` over the span
  int nodes_over_day = 0;  // in some 24 h more than a day's share and one run
};

// Errors are the configuration's, or of a share that is not in (0, 1).
absl::StatusOr<BudgetWeek> MeasureBudgetWeek(const std::string& suite_file, int nodes, absl::Duration span,
                                             double share);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_SCHEDULE_BUDGET_WEEK_H_
