#include "collector/store/store.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/action_tables.h"
#include "collector/store/alert_tables.h"
#include "collector/store/audit_table.h"
#include "collector/store/commit.h"
#include "collector/store/database.h"
#include "collector/store/events.h"
#include "collector/store/findings.h"
#include "collector/store/keys.h"
#include "collector/store/maintenance.h"
#include "collector/store/nodes.h"
#include "collector/store/runs.h"
#include "collector/store/sample_reader.h"
#include "collector/store/sealing.h"
#include "collector/store/series_catalog.h"
#include "collector/store/series_index.h"
#include "collector/store/tiers.h"
#include "collector/store/values.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/model/outcome_name.h"

namespace fleetmark::collector {
namespace {

constexpr const char kCountersKey[] = "counters";
constexpr const char kFleetDetectionKey[] = "fleet_detection";

v1::Sample ToSample(const SampleColumns& samples, size_t i) {
  v1::Sample sample;
  sample.set_time_unix_ns(samples.times[i]);
  sample.set_value(samples.values[i]);
  sample.set_run_id(UlidToText(samples.runs[i]));
  if (samples.spreads[i] != 0) sample.set_relative_spread(samples.spreads[i]);
  return sample;
}

}  // namespace

struct Store::Impl {
  Options options;
  std::unique_ptr<Database> db;
  std::unique_ptr<AlertTables> alerts;
  std::unique_ptr<ActionTables> actions;
  std::unique_ptr<AuditTable> audit;
  std::atomic<uint64_t> findings_version{1};

  // Writers take turns, for the time of the write too: each reads what it then changes. Readers never wait
  // for it.
  Mutex turn;
  SeriesCatalog catalog;  // changed by the writer whose turn it is
  Cutoffs cutoffs ABSL_GUARDED_BY(turn);

  mutable Mutex mu;
  Counters counters ABSL_GUARDED_BY(mu);  // as on disk

  Counters CurrentCounters() const {
    MutexLock lock(mu);
    return counters;
  }

  // One bounded step of maintenance; whether there is more to do.
  absl::StatusOr<bool> Step(MaintenanceResult* total,
                            absl::FunctionRef<absl::StatusOr<bool>(Maintenance*, WriteSet*, Counters*)> step);
  absl::Status ApplySizeLimit(int64_t now, Cutoffs* at, MaintenanceResult* result);

  // Packs the groups' rows into chunks.
  absl::Status Seal(const std::vector<GroupPtr>& groups) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn);

  // Writes the set and the new totals.
  absl::Status Write(WriteSet writes, const Counters& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn) {
    if (now != CurrentCounters()) writes.Put(Family::kMeta, kCountersKey, EncodeCounters(now));
    FM_RETURN_IF_ERROR(db->Write(std::move(writes)));
    MutexLock lock(mu);
    counters = now;
    return absl::OkStatus();
  }
};

absl::Status Store::Impl::Seal(const std::vector<GroupPtr>& groups) {
  WriteSet writes = db->NewWriteSet();
  std::vector<Group> sealed;
  for (const GroupPtr& group : groups) {
    if (group->rows == 0) continue;
    FM_RETURN_IF_ERROR(SealGroup(*db, &sealed.emplace_back(*group), &writes));
    if (group->longest_chunk_ns == sealed.back().longest_chunk_ns) continue;
    // Readers must know how long a chunk is at the latest when they can see it.
    Group longer = *group;
    longer.longest_chunk_ns = sealed.back().longest_chunk_ns;
    catalog.Publish(std::move(longer));
  }
  FM_RETURN_IF_ERROR(Write(std::move(writes), CurrentCounters()));
  for (Group& group : sealed) catalog.Publish(std::move(group));
  return absl::OkStatus();
}

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
  database.env = options.env;
  FM_ASSIGN_OR_RETURN(impl->db, Database::Open(database));
  impl->alerts = std::make_unique<AlertTables>(impl->db.get());
  impl->actions = std::make_unique<ActionTables>(impl->db.get());
  impl->audit = std::make_unique<AuditTable>(impl->db.get());
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, impl->db->Get(Family::kMeta, kCountersKey));
  if (value.has_value()) {
    FM_ASSIGN_OR_RETURN(const Counters counters, DecodeCounters(*value));
    MutexLock lock(impl->mu);
    impl->counters = counters;
  }
  FM_RETURN_IF_ERROR(FillCatalog(*impl->db, &impl->catalog));
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

absl::StatusOr<CommitResult> Store::Commit(absl::Span<const SenderRecords> batch) {
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  CommitBuilder builder(*impl_->db, &impl_->catalog,
                        {impl_->options.max_series, impl_->options.max_series_per_node},
                        {impl_->cutoffs.runs, impl_->cutoffs.raw}, &counters);
  for (const SenderRecords& sender : batch) FM_RETURN_IF_ERROR(builder.Add(sender));
  CommitResult result = builder.Finish();
  builder.PublishLengths();
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
  for (const GroupPtr& group : impl_->catalog.DirtyGroups(limit)) {
    for (const Group::Column& column : group->columns) {
      if (column.dirty && ids.size() < limit) ids.push_back(column.series_id);
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

absl::Status Store::PutEvaluation(const Evaluation& evaluation) {
  MutexLock lock(impl_->turn);
  Counters counters = impl_->CurrentCounters();
  WriteSet writes = impl_->db->NewWriteSet();
  std::optional<Group> cleaned;
  const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(evaluation.series_id);
  if (place.has_value() && (*place)->dirty && (*place)->stats.samples <= evaluation.samples_seen) {
    cleaned = *place->group;
    cleaned->FindColumn(place->column)->dirty = false;
    if (std::none_of(cleaned->columns.begin(), cleaned->columns.end(),
                     [](const Group::Column& column) { return column.dirty; })) {
      writes.Delete(Family::kDirtyGroups, GroupIdKey(cleaned->id));
      cleaned->dirty_on_disk = false;
    }
  }
  writes.Put(Family::kDetectorState, SeriesIdKey(evaluation.series_id),
             EncodeBytes(evaluation.detector_state));
  for (const v1::Finding& finding : evaluation.findings) {
    FM_RETURN_IF_ERROR(PutFinding(*impl_->db, finding, &writes, &counters));
  }
  FM_RETURN_IF_ERROR(impl_->Write(std::move(writes), counters));
  if (!evaluation.findings.empty()) ++impl_->findings_version;
  if (cleaned.has_value()) impl_->catalog.Publish(*std::move(cleaned));
  return absl::OkStatus();
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
  FM_RETURN_IF_ERROR(impl_->Write(std::move(writes), counters));
  if (!evaluation.findings.empty() || !evaluation.notes.empty()) ++impl_->findings_version;
  return absl::OkStatus();
}

uint64_t Store::FindingsVersion() const { return impl_->findings_version; }

AlertTables& Store::alerts() { return *impl_->alerts; }
ActionTables& Store::actions() { return *impl_->actions; }

AuditTable& Store::audit() { return *impl_->audit; }

absl::StatusOr<std::string> Store::FleetDetectionState() const {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      impl_->db->Get(Family::kMeta, kFleetDetectionKey));
  if (!value.has_value()) return std::string();
  return DecodeBytes(*value);
}

absl::StatusOr<v1::Finding> Store::GetFinding(const std::string& finding_id) const {
  return collector::GetFinding(*impl_->db, finding_id);
}

absl::StatusOr<std::vector<v1::Finding>> Store::OpenFindings(size_t limit) const {
  return collector::OpenFindings(*impl_->db, limit);
}

absl::StatusOr<v1::Node> Store::GetNode(const std::string& name) const { return ReadNode(*impl_->db, name); }

absl::StatusOr<std::vector<v1::Node>> Store::ListNodes(const Page& page, std::string* next_token) const {
  return collector::ListNodes(*impl_->db, page, next_token);
}

absl::StatusOr<v1::Series> Store::GetSeries(uint64_t series_id) const {
  const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(series_id);
  if (!place.has_value()) return absl::NotFoundError(absl::StrCat("series ", series_id, " is not known"));
  return ToSeries(*place);
}

absl::StatusOr<std::vector<v1::Series>> Store::ListSeries(const v1::Selector& selector, const Page& page,
                                                          std::string* next_token) const {
  return collector::ListSeries(*impl_->db, impl_->catalog, selector, page, next_token);
}

absl::StatusOr<std::vector<uint64_t>> Store::Select(absl::Span<const LabelMatcher> matchers) const {
  return impl_->catalog.Select(matchers);
}

std::vector<std::string> Store::LabelNames() const { return impl_->catalog.LabelNames(); }

std::vector<MetricOfBenchmark> Store::Metrics() const { return impl_->catalog.Metrics(); }

std::vector<std::string> Store::LabelValues(const std::string& label) const {
  return impl_->catalog.LabelValues(label);
}

std::vector<LatestSample> Store::Latest(absl::Span<const uint64_t> series_ids) const {
  std::vector<LatestSample> out;
  out.reserve(series_ids.size());
  for (const uint64_t id : series_ids) {
    const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(id);
    if (!place.has_value() || (*place)->stats.samples == 0) continue;
    out.push_back({id, (*place)->stats.last_unix_ns, (*place)->stats.last_value});
  }
  return out;
}

absl::Status Store::ScanValues(
    absl::Span<const uint64_t> series_ids, int64_t from_unix_ns, int64_t to_unix_ns,
    absl::FunctionRef<bool(uint64_t, absl::Span<const int64_t>, absl::Span<const double>)> visit) const {
  SampleReader reader(*impl_->db);
  SampleColumns samples;
  for (const uint64_t id : series_ids) {
    const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(id);
    if (!place.has_value()) continue;
    FM_RETURN_IF_ERROR(
        reader.Read(*place->group, place->column, from_unix_ns, to_unix_ns, SampleReader::kValues, &samples));
    if (!visit(id, samples.times, samples.values)) break;
  }
  return absl::OkStatus();
}

absl::Status Store::ScanSamples(uint64_t series_id, int64_t from_unix_ns, int64_t to_unix_ns,
                                absl::FunctionRef<bool(const v1::Sample&)> visit) const {
  SampleReader reader(*impl_->db);
  const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(series_id);
  if (!place.has_value()) return absl::OkStatus();
  SampleColumns samples;
  FM_RETURN_IF_ERROR(
      reader.Read(*place->group, place->column, from_unix_ns, to_unix_ns, SampleReader::kAll, &samples));
  for (size_t i = 0; i < samples.times.size(); ++i) {
    if (!visit(ToSample(samples, i))) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Sample>> Store::LastSamples(uint64_t series_id, int64_t to_unix_ns,
                                                           size_t count) const {
  std::vector<v1::Sample> out;
  SampleReader reader(*impl_->db);
  const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(series_id);
  if (!place.has_value()) return out;
  SampleColumns samples;
  FM_RETURN_IF_ERROR(reader.ReadLast(*place->group, place->column, to_unix_ns, count, &samples));
  for (size_t i = 0; i < samples.times.size(); ++i) out.push_back(ToSample(samples, i));
  return out;
}

absl::StatusOr<v1::NodeRun> Store::GetRun(const std::string& run_id) const {
  return ReadRun(*impl_->db, impl_->catalog, run_id);
}

absl::StatusOr<std::vector<v1::NodeRun>> Store::ListRuns(const v1::ListRunsRequest& filter, const Page& page,
                                                         std::string* next_token) const {
  return collector::ListRuns(*impl_->db, impl_->catalog, filter, page, next_token);
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
  counts.bytes_by_family = impl_->db->BytesByFamily();
  return counts;
}

absl::StatusOr<std::vector<TierSummary>> Store::ReadTier(uint64_t series_id, Tier tier, int64_t from_unix_ns,
                                                         int64_t to_unix_ns) const {
  std::vector<TierSummary> out;
  const std::optional<SeriesPlace> place = impl_->catalog.FindSeries(series_id);
  if (!place.has_value()) return out;
  const auto key_at = [&](int64_t window) {
    return EncodeTierKey({place->group->id, static_cast<uint8_t>(tier), place->column, window});
  };
  const int64_t first = from_unix_ns < INT64_MIN + WindowNs(tier) ? INT64_MIN : WindowOf(tier, from_unix_ns);
  const std::string end = key_at(to_unix_ns);
  std::vector<TierSummary> window;
  Cursor cursor = impl_->db->NewCursor(Family::kTiers);
  for (cursor.Seek(key_at(first)); cursor.Valid() && cursor.key() < end; cursor.Next()) {
    FM_RETURN_IF_ERROR(DecodeSummaries(cursor.value(), &window));
    for (const TierSummary& summary : window) {
      if (summary.begin_unix_ns >= from_unix_ns && summary.begin_unix_ns < to_unix_ns) out.push_back(summary);
    }
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return out;
}

absl::StatusOr<bool> Store::Impl::Step(
    MaintenanceResult* total,
    absl::FunctionRef<absl::StatusOr<bool>(Maintenance*, WriteSet*, Counters*)> step) {
  MutexLock lock(turn);
  Maintenance maintenance(*db, &catalog);
  WriteSet writes = db->NewWriteSet();
  Counters now = CurrentCounters();
  FM_ASSIGN_OR_RETURN(const bool more, step(&maintenance, &writes, &now));
  maintenance.PublishLengths();
  FM_RETURN_IF_ERROR(Write(std::move(writes), now));
  maintenance.Publish();
  const MaintenanceResult& did = maintenance.result();
  total->days_summarised += did.days_summarised;
  total->chunks_dropped += did.chunks_dropped;
  total->series_dropped += did.series_dropped;
  total->runs_dropped += did.runs_dropped;
  total->events_dropped += did.events_dropped;
  return more;
}

// While there is too much, the time for which samples and runs are kept shrinks in proportion; what
// compaction then frees shows in the next pass.
absl::Status Store::Impl::ApplySizeLimit(int64_t now, Cutoffs* at, MaintenanceResult* result) {
  const uint64_t limit = options.retention.max_bytes;
  const uint64_t bytes = limit == 0 ? 0 : db->DiskBytes();
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  Cursor oldest = db->NewCursor(Family::kRunsByTime);
  oldest.Seek({});
  if (!oldest.Valid()) return oldest.status();
  const std::optional<TimeKey> key = ParseTimeKey(oldest.key());
  if (!key.has_value()) return absl::DataLossError("a key of runs_by_time is malformed");
  const double share = 0.95 * static_cast<double>(limit) / static_cast<double>(bytes);
  const double kept = static_cast<double>(now - std::min(now, key->time_unix_ns)) * share;
  const int64_t cutoff = now - std::max(kDayNs, static_cast<int64_t>(kept));
  at->raw = std::max(at->raw, cutoff);
  at->runs = std::max(at->runs, cutoff);
  result->shortened = true;
  return absl::OkStatus();
}

absl::StatusOr<MaintenanceResult> Store::Maintain(int64_t now_unix_ns) {
  constexpr size_t kDaysAtOnce = 16;
  constexpr size_t kGroupsAtOnce = 16;
  constexpr size_t kRecordsAtOnce = 500;
  MaintenanceResult result;
  Cutoffs at = CutoffsAt(impl_->options.retention, now_unix_ns);
  FM_RETURN_IF_ERROR(impl_->ApplySizeLimit(now_unix_ns, &at, &result));
  const auto repeat =
      [&](absl::FunctionRef<absl::StatusOr<bool>(Maintenance*, WriteSet*, Counters*)> step) -> absl::Status {
    for (bool more = true; more;) {
      FM_ASSIGN_OR_RETURN(more, impl_->Step(&result, step));
    }
    return absl::OkStatus();
  };
  std::string day;
  const auto make_tiers = [&](Maintenance* m, WriteSet* writes, Counters*) -> absl::StatusOr<bool> {
    return m->MakeTiers(now_unix_ns - kHourNs, kDaysAtOnce, &day, writes);
  };
  uint32_t next_group = 0;
  const auto tidy = [&](Maintenance* m, WriteSet* writes, Counters* counters) -> absl::StatusOr<bool> {
    const std::vector<GroupPtr> groups = impl_->catalog.Groups(next_group, kGroupsAtOnce);
    for (const GroupPtr& group : groups) {
      FM_RETURN_IF_ERROR(m->TidyGroup(group, at, now_unix_ns - 2 * kDayNs, writes, counters));
      next_group = group->id + 1;
    }
    return groups.size() == kGroupsAtOnce;
  };
  std::string run;
  const auto drop_runs = [&](Maintenance* m, WriteSet* writes, Counters* counters) -> absl::StatusOr<bool> {
    return m->DropRuns(at.runs, kRecordsAtOnce, &run, writes, counters);
  };
  std::string event;
  const auto drop_events = [&](Maintenance* m, WriteSet* writes, Counters*) -> absl::StatusOr<bool> {
    return m->DropEvents(at.events, kRecordsAtOnce, &event, writes);
  };
  FM_RETURN_IF_ERROR(repeat(make_tiers));  // before anything is dropped, so that the tiers have it
  {
    MutexLock lock(impl_->turn);
    impl_->cutoffs = at;
  }
  FM_RETURN_IF_ERROR(repeat(tidy));
  FM_RETURN_IF_ERROR(repeat(drop_runs));
  FM_RETURN_IF_ERROR(repeat(drop_events));
  return result;
}

absl::Status Store::Backup(const std::string& folder) { return impl_->db->Checkpoint(folder); }

absl::Status Store::Compact() {
  constexpr size_t kGroupsAtOnce = 64;
  for (uint32_t from = 0;;) {
    MutexLock lock(impl_->turn);
    const std::vector<GroupPtr> groups = impl_->catalog.Groups(from, kGroupsAtOnce);
    if (groups.empty()) break;
    FM_RETURN_IF_ERROR(impl_->Seal(groups));
    from = groups.back()->id + 1;
  }
  return impl_->db->Compact();
}

absl::Status Store::Health() const { return impl_->db->Health(); }

}  // namespace fleetmark::collector
