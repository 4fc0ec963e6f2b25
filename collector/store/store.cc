#include "collector/store/store.h"

#include <algorithm>
#include <utility>

#include "collector/store/commit.h"
#include "collector/store/database.h"
#include "collector/store/events.h"
#include "collector/store/findings.h"
#include "collector/store/keys.h"
#include "collector/store/nodes.h"
#include "collector/store/runs.h"
#include "collector/store/samples.h"
#include "collector/store/series_index.h"
#include "collector/store/values.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/model/outcome_name.h"

namespace fleetmark::collector {
namespace {

constexpr const char kCountersKey[] = "counters";
constexpr const char kFleetDetectionKey[] = "fleet_detection";

}  // namespace

struct Store::Impl {
  Options options;
  std::unique_ptr<Database> db;

  // Writers take turns, for the time of the write too: each reads what it then changes. Readers never wait
  // for it.
  Mutex turn;
  SeriesCache cache ABSL_GUARDED_BY(turn);

  mutable Mutex mu;
  Counters counters ABSL_GUARDED_BY(mu);  // as on disk

  Counters CurrentCounters() const {
    MutexLock lock(mu);
    return counters;
  }

  // Writes the set and the new totals.
  absl::Status Write(WriteSet writes, const Counters& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn) {
    if (now != CurrentCounters()) writes.Put(Family::kMeta, kCountersKey, EncodeCounters(now));
    FM_RETURN_IF_ERROR(db->Write(std::move(writes)));
    MutexLock lock(mu);
    counters = now;
    return absl::OkStatus();
  }
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const Options& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  Database::Options database;
  database.folder = options.folder;
  database.cache_bytes = options.cache_bytes;
  database.write_buffer_bytes = options.write_buffer_bytes;
  database.reserve_bytes = options.reserve_bytes;
  FM_ASSIGN_OR_RETURN(impl->db, Database::Open(database));
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, impl->db->Get(Family::kMeta, kCountersKey));
  if (value.has_value()) {
    FM_ASSIGN_OR_RETURN(const Counters counters, DecodeCounters(*value));
    MutexLock lock(impl->mu);
    impl->counters = counters;
  }
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

absl::StatusOr<CommitResult> Store::Commit(absl::Span<const SenderRecords> batch) {
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  CommitBuilder builder(*impl_->db, &impl_->cache, impl_->options.max_series, &counters);
  for (const SenderRecords& sender : batch) FM_RETURN_IF_ERROR(builder.Add(sender));
  CommitResult result = builder.Finish();
  FM_RETURN_IF_ERROR(impl_->Write(builder.TakeWrites(), counters));
  builder.Publish();
  return result;
}

absl::StatusOr<uint64_t> Store::Watermark(const std::string& node, const std::string& epoch) const {
  return ReadWatermark(*impl_->db, SenderKey(node, epoch));
}

absl::Status Store::PutNode(const v1::Node& node, absl::Span<const v1::Event> events) {
  const std::string& name = node.identity().name();
  if (name.empty()) return absl::InvalidArgumentError("a node must have a name");
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  WriteSet writes = impl_->db->NewWriteSet();
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> known, impl_->db->Get(Family::kNodes, name));
  collector::PutNode(node, !known.has_value(), &writes, &counters);
  for (const v1::Event& event : events) FM_RETURN_IF_ERROR(collector::PutEvent(event, &writes));
  return impl_->Write(std::move(writes), counters);
}

absl::Status Store::PutEvent(const v1::Event& event) {
  MutexLock lock(impl_->turn);
  WriteSet writes = impl_->db->NewWriteSet();
  FM_RETURN_IF_ERROR(collector::PutEvent(event, &writes));
  return impl_->Write(std::move(writes), impl_->CurrentCounters());
}

absl::StatusOr<std::vector<uint64_t>> Store::DirtySeries(size_t limit) const {
  std::vector<uint64_t> ids;
  Cursor cursor = impl_->db->NewCursor(Family::kDirty);
  for (cursor.Seek({}); cursor.Valid() && ids.size() < limit; cursor.Next()) {
    const std::optional<uint64_t> id = ParseSeriesIdKey(cursor.key());
    if (!id.has_value()) return absl::DataLossError("a key of dirty is malformed");
    ids.push_back(*id);
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return ids;
}

absl::Status Store::PutEvaluation(const Evaluation& evaluation) {
  const std::string key = SeriesIdKey(evaluation.series_id);
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  WriteSet writes = impl_->db->NewWriteSet();
  FM_ASSIGN_OR_RETURN(const SeriesStats stats, ReadSeriesStats(*impl_->db, evaluation.series_id));
  if (stats.samples <= evaluation.samples_seen) writes.Delete(Family::kDirty, key);
  writes.Put(Family::kDetectorState, key, EncodeBytes(evaluation.detector_state));
  for (const v1::Finding& finding : evaluation.findings) {
    FM_RETURN_IF_ERROR(PutFinding(*impl_->db, finding, &writes, &counters));
  }
  return impl_->Write(std::move(writes), counters);
}

absl::StatusOr<std::string> Store::DetectorState(uint64_t series_id) const {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      impl_->db->Get(Family::kDetectorState, SeriesIdKey(series_id)));
  if (!value.has_value()) return std::string();
  return DecodeBytes(*value);
}

absl::Status Store::PutFleetEvaluation(const FleetEvaluation& evaluation) {
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  WriteSet writes = impl_->db->NewWriteSet();
  writes.Put(Family::kMeta, kFleetDetectionKey, EncodeBytes(evaluation.state));
  for (const v1::Finding& finding : evaluation.findings) {
    FM_RETURN_IF_ERROR(PutFinding(*impl_->db, finding, &writes, &counters));
  }
  for (const v1::Finding& notes : evaluation.notes) {
    FM_RETURN_IF_ERROR(PutFleetNotes(*impl_->db, notes, &writes, &counters));
  }
  return impl_->Write(std::move(writes), counters);
}

absl::StatusOr<std::string> Store::FleetDetectionState() const {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      impl_->db->Get(Family::kMeta, kFleetDetectionKey));
  if (!value.has_value()) return std::string();
  return DecodeBytes(*value);
}

absl::StatusOr<std::vector<v1::Finding>> Store::OpenFindings(size_t limit) const {
  return collector::OpenFindings(*impl_->db, limit);
}

absl::StatusOr<v1::Node> Store::GetNode(const std::string& name) const { return ReadNode(*impl_->db, name); }

absl::StatusOr<std::vector<v1::Node>> Store::ListNodes(const Page& page, std::string* next_token) const {
  return collector::ListNodes(*impl_->db, page, next_token);
}

absl::StatusOr<v1::Series> Store::GetSeries(uint64_t series_id) const {
  return ReadSeries(*impl_->db, series_id);
}

absl::StatusOr<std::vector<v1::Series>> Store::ListSeries(const v1::Selector& selector, const Page& page,
                                                          std::string* next_token) const {
  return collector::ListSeries(*impl_->db, selector, page, next_token);
}

absl::Status Store::ScanSamples(uint64_t series_id, int64_t from_unix_ns, int64_t to_unix_ns,
                                absl::FunctionRef<bool(const v1::Sample&)> visit) const {
  return collector::ScanSamples(*impl_->db, series_id, from_unix_ns, to_unix_ns, visit);
}

absl::StatusOr<std::vector<v1::Sample>> Store::LastSamples(uint64_t series_id, int64_t to_unix_ns,
                                                           size_t count) const {
  return collector::LastSamples(*impl_->db, series_id, to_unix_ns, count);
}

absl::StatusOr<v1::NodeRun> Store::GetRun(const std::string& run_id) const {
  return ReadRun(*impl_->db, run_id);
}

absl::StatusOr<std::vector<v1::NodeRun>> Store::ListRuns(const v1::ListRunsRequest& filter, const Page& page,
                                                         std::string* next_token) const {
  return collector::ListRuns(*impl_->db, filter, page, next_token);
}

absl::StatusOr<std::vector<v1::Finding>> Store::ListFindings(const v1::ListFindingsRequest& filter,
                                                             const Page& page,
                                                             std::string* next_token) const {
  return collector::ListFindings(*impl_->db, filter, page, next_token);
}

absl::StatusOr<std::vector<v1::Event>> Store::ListEvents(const v1::ListEventsRequest& filter,
                                                         const Page& page, std::string* next_token) const {
  return collector::ListEvents(*impl_->db, filter, page, next_token);
}

absl::StatusOr<StoreCounts> Store::Counts() const {
  const Counters counters = impl_->CurrentCounters();
  StoreCounts counts;
  counts.nodes = counters.nodes;
  counts.series = counters.series;
  counts.runs = counters.runs;
  counts.samples = counters.samples;
  counts.open_findings = counters.open_findings;
  counts.open_findings_worse = counters.open_findings_worse;
  for (size_t i = 1; i < counters.runs_by_outcome.size(); ++i) {
    counts.runs_by_outcome.emplace_back(OutcomeName(static_cast<v1::Outcome>(i)),
                                        counters.runs_by_outcome[i]);
  }
  counts.disk_bytes = impl_->db->DiskBytes();
  return counts;
}

absl::Status Store::Health() const { return impl_->db->Health(); }

}  // namespace fleetmark::collector
