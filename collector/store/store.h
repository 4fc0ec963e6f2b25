// The collector's durable state on RocksDB: nodes, series and their samples, runs, events, findings, and
// how far each sender's records are stored. Keys and values are written down in docs/storage-format.md.
//
// Thread-safety: all methods, any thread; writes are meant to come from one committer thread, since
// RocksDB's group commit does best with few large synced writes.
// Ownership: the Store owns the database and its folder's lock; one process at a time.
// Errors: ResourceExhausted (too little disk space is free; nothing was written, and a later write may
// succeed), Unavailable (input or output failed; the store refuses writes from then on), DataLoss
// (something on disk can't be read), InvalidArgument (an id that is no ULID, a page token of another
// listing), NotFound where said, FailedPrecondition (a newer format; another process has it).
#ifndef FLEETMARK_COLLECTOR_STORE_STORE_H_
#define FLEETMARK_COLLECTOR_STORE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "collector/store/store_types.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"
#include "fleetmark/v1/types.pb.h"

namespace rocksdb {
class Env;
}

namespace fleetmark::collector {

class ActionTables;
class AlertTables;
class AuditTable;

class Store {
 public:
  // How long each kind is kept; InfiniteDuration: for ever.
  struct Retention {
    absl::Duration raw = absl::Hours(24) * 90;  // samples
    absl::Duration hourly = absl::Hours(24) * 730;
    absl::Duration daily = absl::InfiniteDuration();
    absl::Duration runs = absl::Hours(24) * 90;  // with their logs; a run's metrics are samples
    absl::Duration events = absl::Hours(24) * 730;
    // A series, with its tiers, that got no sample for so long (and for `raw`) is removed.
    absl::Duration series = absl::Hours(24) * 730;
    // While the store is larger, samples and runs are kept for a shorter time, but for a day at least. 0: no
    // bound.
    uint64_t max_bytes = 0;
  };

  struct Options {
    std::string folder;
    Retention retention;
    uint64_t max_series = 5'000'000;
    uint64_t max_series_per_node = 50'000;
    uint64_t cache_bytes = 64 << 20;
    uint64_t write_buffer_bytes = 32 << 20;
    // Commits are refused with ResourceExhausted while less than this is free on the file system, so that
    // the write-ahead log never meets a full disk (Debian's RocksDB aborts there).
    uint64_t reserve_bytes = 256 << 20;
    rocksdb::Env* env = nullptr;  // tests put a faulty disk there; null: the machine's
  };

  static absl::StatusOr<std::unique_ptr<Store>> Open(const Options& options);
  ~Store();

  // --- writing ---------------------------------------------------------------------------------------

  // Stores all of it in one synced write, or nothing. Records at or below the sender's watermark are
  // skipped, so sending again is harmless. Series that got samples become dirty in the same write.
  absl::StatusOr<CommitResult> Commit(absl::Span<const SenderRecords> batch);

  // Every record up to this sequence is durable; 0 for an unknown sender.
  absl::StatusOr<uint64_t> Watermark(const std::string& node, const std::string& epoch) const;

  // Creates or replaces what is known of a node, with events that go with it, in one synced write.
  absl::Status PutNode(const v1::Node& node, absl::Span<const v1::Event> events = {});
  absl::Status PutEvent(const v1::Event& event);

  // At most `limit` of the series that got samples since they were evaluated, ascending.
  absl::StatusOr<std::vector<uint64_t>> DirtySeries(size_t limit) const;

  // What detection concluded about a series, in one synced write: its new state (opaque to the store), the
  // findings it opened or changed, and the series being clean again, unless samples came in meanwhile
  // (more than `samples_seen`).
  struct Evaluation {
    uint64_t series_id = 0;
    uint64_t samples_seen = 0;
    std::string detector_state;
    std::vector<v1::Finding> findings;
  };
  absl::Status PutEvaluation(const Evaluation& evaluation);
  // Empty for a series that was never evaluated.
  absl::StatusOr<std::string> DetectorState(uint64_t series_id) const;

  // What the detection of the fleet concluded, in one synced write: its new state (opaque to the store), the
  // findings that it opened or changed, and its notes in findings of single series (findings.h,
  // PutFleetNotes). One finding at most once in both.
  struct FleetEvaluation {
    std::string state;
    std::vector<v1::Finding> findings;
    std::vector<v1::Finding> notes;
  };
  absl::Status PutFleetEvaluation(const FleetEvaluation& evaluation);
  // Empty before the first evaluation.
  absl::StatusOr<std::string> FleetDetectionState() const;

  // --- reading ---------------------------------------------------------------------------------------
  // Listings are in a stable order; `*next_token` is empty when there is no more. It may be `page.token`.

  absl::StatusOr<v1::Node> GetNode(const std::string& name) const;
  absl::StatusOr<std::vector<v1::Node>> ListNodes(const Page& page, std::string* next_token) const;

  absl::StatusOr<v1::Series> GetSeries(uint64_t series_id) const;
  // Those that match, ascending in id.
  absl::StatusOr<std::vector<v1::Series>> ListSeries(const v1::Selector& selector, const Page& page,
                                                     std::string* next_token) const;

  // The series that all matchers match, ascending. InvalidArgument for a regular expression that RE2 refuses.
  absl::StatusOr<std::vector<uint64_t>> Select(absl::Span<const LabelMatcher> matchers) const;
  // Of all series, ascending.
  std::vector<std::string> LabelNames() const;
  std::vector<std::string> LabelValues(const std::string& label) const;
  std::vector<MetricOfBenchmark> Metrics() const;

  // Each series' newest sample, from memory; series that are not known or have none are left out.
  std::vector<LatestSample> Latest(absl::Span<const uint64_t> series_ids) const;

  // Times and values of [from, to) of many series, each ascending in time, in the order of `series_ids`, all
  // as of one moment. The cheapest way to read much. Until `visit` returns false; series that are not known
  // are left out.
  absl::Status ScanValues(absl::Span<const uint64_t> series_ids, int64_t from_unix_ns, int64_t to_unix_ns,
                          absl::FunctionRef<bool(uint64_t series_id, absl::Span<const int64_t> times_unix_ns,
                                                 absl::Span<const double> values)>
                              visit) const;

  // Samples in time order of [from, to), until `visit` returns false.
  absl::Status ScanSamples(uint64_t series_id, int64_t from_unix_ns, int64_t to_unix_ns,
                           absl::FunctionRef<bool(const v1::Sample&)> visit) const;
  // The newest `count` samples before `to`, ascending.
  absl::StatusOr<std::vector<v1::Sample>> LastSamples(uint64_t series_id, int64_t to_unix_ns,
                                                      size_t count) const;

  // The summaries of periods that begin in [from, to), ascending. Of a day they are there from an hour after
  // its end on, at the next Maintain.
  absl::StatusOr<std::vector<TierSummary>> ReadTier(uint64_t series_id, Tier tier, int64_t from_unix_ns,
                                                    int64_t to_unix_ns) const;

  absl::StatusOr<v1::NodeRun> GetRun(const std::string& run_id) const;
  // Newest first; without log_tail.
  absl::StatusOr<std::vector<v1::NodeRun>> ListRuns(const v1::ListRunsRequest& filter, const Page& page,
                                                    std::string* next_token) const;
  absl::StatusOr<std::vector<v1::Finding>> ListFindings(const v1::ListFindingsRequest& filter,
                                                        const Page& page, std::string* next_token) const;
  absl::StatusOr<v1::Finding> GetFinding(const std::string& finding_id) const;
  // At most `limit` findings that are open, by node.
  absl::StatusOr<std::vector<v1::Finding>> OpenFindings(size_t limit) const;
  absl::StatusOr<std::vector<v1::Event>> ListEvents(const v1::ListEventsRequest& filter, const Page& page,
                                                    std::string* next_token) const;

  absl::StatusOr<StoreCounts> Counts() const;

  // Moves whenever a finding was put or changed, so that who follows them knows when to look again.
  uint64_t FindingsVersion() const;

  // These live as long as the store.
  AlertTables& alerts();
  ActionTables& actions();
  AuditTable& audit();

  // OK while writes are taken; else why not.
  absl::Status Health() const;

  // --- care ------------------------------------------------------------------------------------------

  // Makes the tiers of days that have ended, and drops what is older than it is to be kept. From then on,
  // samples and runs that are older are not taken. To be called from time to time; writers wait for its
  // steps, each of some milliseconds.
  absl::StatusOr<MaintenanceResult> Maintain(int64_t now_unix_ns);

  // Copies the store as it is now to a folder that does not exist yet, while it goes on working. Files are
  // linked where the file system can. The copy is a store that Open takes.
  absl::Status Backup(const std::string& folder);

  // Packs all rows into chunks and compacts the database. Blocks writers for the first, not the second.
  absl::Status Compact();

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_STORE_H_
