// What goes into the store and comes out of it, beside the messages of the wire contract.
//
// Thread-safety: plain values.
#ifndef FLEETMARK_COLLECTOR_STORE_STORE_TYPES_H_
#define FLEETMARK_COLLECTOR_STORE_STORE_TYPES_H_

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// Records of one sender, ascending in sequence, already validated.
struct SenderRecords {
  std::string node;
  std::string epoch;
  std::vector<v1::Record> records;
};

// What a commit did, for counters and for detection.
struct CommitResult {
  uint64_t runs = 0;
  std::array<uint64_t, v1::Outcome_ARRAYSIZE> runs_by_outcome{};  // indexed by v1::Outcome
  uint64_t events = 0;
  uint64_t samples = 0;
  // Records at or below the sender's watermark, and runs stored already by another epoch.
  uint64_t duplicates = 0;
  uint64_t series_created = 0;
  uint64_t too_old = 0;          // runs not stored, as they would be dropped at once
  uint64_t samples_too_old = 0;  // not stored likewise; their runs are
  uint64_t runs_late = 0;        // stored, and older than the newest of their series
  // Not stored, as max_series, or the node's max_series_per_node, was reached; their runs are, with a
  // warning.
  uint64_t samples_over_series_limit = 0;
  uint64_t samples_over_node_limit = 0;
  std::set<std::string> nodes_over_series_limit;
  std::vector<uint64_t> touched_series;
};

// A page of a listing: what follows `token` (empty: from the start), at most `limit`.
struct Page {
  uint32_t limit = 1000;
  std::string token;
};

// A condition on one label of series: node, benchmark, metric, unit, plugin, plugin_version, params_digest,
// or a label of the metric; one that a series does not have is empty. Regular expressions are RE2's and match
// the whole value.
struct LabelMatcher {
  enum class Op { kEqual, kNotEqual, kRegex, kNotRegex };
  std::string label;
  Op op = Op::kEqual;
  std::string value;
};

struct MetricOfBenchmark {
  std::string benchmark;
  std::string metric;
  std::string unit;

  friend auto operator<=>(const MetricOfBenchmark&, const MetricOfBenchmark&) = default;
};

struct LatestSample {
  uint64_t series_id = 0;
  int64_t time_unix_ns = 0;
  double value = 0;
};

enum class Tier : uint8_t { kHourly = 1, kDaily = 2 };  // the numbers are on disk

// What a tier keeps of one hour or day.
struct TierSummary {
  int64_t begin_unix_ns = 0;
  uint64_t count = 0;
  double min = 0;
  double median = 0;
  double max = 0;

  friend bool operator==(const TierSummary&, const TierSummary&) = default;
};

struct MaintenanceResult {
  uint64_t days_summarised = 0;  // of groups
  uint64_t chunks_dropped = 0;
  uint64_t series_dropped = 0;
  uint64_t runs_dropped = 0;
  uint64_t events_dropped = 0;
  bool shortened = false;  // samples and runs were kept for a shorter time, as max_bytes is exceeded
};

struct StoreCounts {
  uint64_t nodes = 0;
  uint64_t series = 0;
  uint64_t runs = 0;
  uint64_t samples = 0;
  uint64_t open_findings = 0;
  uint64_t open_findings_worse = 0;
  std::vector<std::pair<std::string, uint64_t>> runs_by_outcome;  // "ok", "failed", …
  uint64_t disk_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> bytes_by_family;  // of table files; docs/storage-format.md
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_STORE_TYPES_H_
