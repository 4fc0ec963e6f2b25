// Turns what another tool kept of its past into measurements that can be imported.
//
// The readers of plugins/parse read the text; here each of their metrics gets its node, benchmark and time:
//   - node: the only host that the record names; of several hosts, or none, `node` of the options, else the
//     system's name (a job over several nodes measures the system, not one of them);
//   - benchmark: the test or program, with what a name can't hold as '_';
//   - time: the record's, else that of the options. Where a text has only whole seconds, or one time for all,
//     repetitions of one metric are told apart by a millisecond each.
// Numbers of a program that ended badly are left out and counted.
//
// Thread-safety: functions without state. Bounds: of plugins/parse on the text (64 MiB), kMaxHistoryMetrics.
// Errors: InvalidArgument when there is no such tool; what is wrong within the text are faults.
#ifndef FLEETMARK_COMMON_HISTORY_HISTORY_H_
#define FLEETMARK_COMMON_HISTORY_HISTORY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/exposition/imported_runs.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

inline constexpr size_t kMaxHistoryMetrics = 1'000'000;

struct HistoryOptions {
  std::string node, benchmark;                // of records that name none
  std::string time;                           // of records without one
  absl::TimeZone zone = absl::UTCTimeZone();  // of times that name none
};

struct HistoryMetric {
  ImportedMetric metric;
  std::optional<v1::Reference> reference;  // in the metric's unit
  size_t line = 0;
};

struct HistoryFault {
  size_t line = 0;  // from 1; 0 if it is about no single line
  std::string why;
};

struct History {
  std::vector<HistoryMetric> metrics;
  std::vector<HistoryFault> faults;  // what could not be read; the rest stands
  size_t failed = 0;                 // tests that the tool says have failed
  size_t unusable = 0;               // numbers left out, since their program ended badly
};

// `tool` is reframe (run reports, records of its httpjson handler, performance logs), superbench
// (results-summary.jsonl) or googlebenchmark (JSON, CSV, console).
absl::StatusOr<History> ReadHistory(std::string_view tool, std::string_view text,
                                    const HistoryOptions& options);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HISTORY_HISTORY_H_
