// Benchmarks that stop working: runs that fail, time out or are invalid more often than before, and runs that
// take longer. A pure function of one benchmark's latest runs on one node.
//
// Skipped and cancelled runs say nothing about the benchmark and are left out.
//
//   failing   of the newest 10 runs more are bad than the older ones explain: Fisher's exact test of bad
//   against
//             new. A benchmark whose every run (three at least) was bad is told as never having worked, which
//             is a fact and needs no test.
//   slower    the newest 10 good runs took longer than up to 60 before: Mann and Whitney's test, and a ratio
//   of
//             medians that matters.
// Both look at a moving window, so neighbouring looks depend on one another; the budget of false alarms
// counts each look (false_alarm_budget.h).
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_FAILURES_H_
#define FLEETMARK_COLLECTOR_FLEET_FAILURES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

struct RunResult {
  int64_t time_unix_ns = 0;
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  double duration_seconds = 0;
  std::string reason;
};

struct FailureVerdict {
  bool failing = false;  // else slower to finish
  bool never_worked = false;
  double before = 0;  // share of bad runs, or median seconds
  double after = 0;
  size_t runs_before = 0;
  size_t runs_after = 0;
  int64_t onset_unix_ns = 0;  // the first bad run of the window, or its first run
  double p_value = 1;         // 0 for a fact
  std::string text;
};

struct FailureOptions {
  size_t window = 10;
  size_t max_before = 60;
  size_t min_before = 12;      // good runs that a duration is compared with
  double min_ratio = 1.25;     // of durations
  double min_seconds = 1;      // of difference
  double min_bad_share = 0.2;  // of the window
};

// `runs` ascending in time. Verdicts are estimates with a p-value, which the caller judges; nothing where
// there is nothing to say at any level.
std::optional<FailureVerdict> JudgeOutcomes(absl::Span<const RunResult> runs,
                                            const FailureOptions& options = {});
std::optional<FailureVerdict> JudgeDurations(absl::Span<const RunResult> runs,
                                             const FailureOptions& options = {});

// Is what was found still so? The newest window is nearer to `after` than to `before`, the two of the
// verdict.
bool StillFailing(absl::Span<const RunResult> runs, bool failing, double before, double after,
                  const FailureOptions& options = {});

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_FAILURES_H_
