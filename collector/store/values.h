// The values of the store's column families as bytes, and back. The first byte of each is the version of
// its encoding, so that one kind of value can change without the rest (docs/storage-format.md).
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such value,
// FailedPrecondition for one of a newer version.
#ifndef FLEETMARK_COLLECTOR_STORE_VALUES_H_
#define FLEETMARK_COLLECTOR_STORE_VALUES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/keys.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// nodes, findings, events
std::string EncodeMessage(const google::protobuf::MessageLite& message);
absl::Status DecodeMessage(std::string_view value, google::protobuf::MessageLite* message);

// runs: the message without its log, and without its metrics where they lie in the series.
std::string EncodeRun(const v1::Run& run, bool metrics_apart);
absl::Status DecodeRun(std::string_view value, v1::Run* run, bool* metrics_apart);

// run_logs, detector_state
std::string EncodeBytes(std::string_view bytes);
absl::StatusOr<std::string> DecodeBytes(std::string_view value);

// senders
std::string EncodeNumber(uint64_t number);
absl::StatusOr<uint64_t> DecodeNumber(std::string_view value);

// What is known of a series' samples without reading them.
struct SeriesStats {
  uint64_t samples = 0;
  int64_t first_unix_ns = 0;
  int64_t last_unix_ns = 0;
  double last_value = 0;

  void Add(int64_t time_unix_ns, double value);
  friend bool operator==(const SeriesStats&, const SeriesStats&) = default;
};

// runs_by_time: what listings filter by, so that they read only the runs that they return.
struct RunSummary {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::string node;
  std::string benchmark;
};
std::string EncodeRunSummary(const RunSummary& summary);
absl::StatusOr<RunSummary> DecodeRunSummary(std::string_view value);

// Where a run stands in time: its start; if it never started, when it was due; else its id's time.
int64_t RunUnixNs(const v1::Run& run, const UlidBytes& id);

// run_index: where the run is.
struct RunPlace {
  int64_t time_unix_ns = 0;
  std::string node;
};
std::string EncodeRunPlace(const RunPlace& place);
absl::StatusOr<RunPlace> DecodeRunPlace(std::string_view value);

// meta/counters: totals, moved in the same write as what they count.
struct Counters {
  uint64_t next_series_id = 1;
  uint64_t nodes = 0;
  uint64_t series = 0;
  uint64_t runs = 0;
  uint64_t samples = 0;
  uint64_t open_findings = 0;
  uint64_t open_findings_worse = 0;
  std::array<uint64_t, v1::Outcome_ARRAYSIZE> runs_by_outcome{};  // indexed by v1::Outcome

  friend bool operator==(const Counters&, const Counters&) = default;
};
std::string EncodeCounters(const Counters& counters);
absl::StatusOr<Counters> DecodeCounters(std::string_view value);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_VALUES_H_
