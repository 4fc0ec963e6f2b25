#include "collector/store/runs.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/listing.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

bool Matches(const v1::ListRunsRequest& filter, const std::string& benchmark, v1::Outcome outcome) {
  return (filter.benchmark().empty() || filter.benchmark() == benchmark) &&
         (filter.outcome() == v1::OUTCOME_UNSPECIFIED || filter.outcome() == outcome);
}

// Runs as they were stored, with their metrics put in again.
class RunReader {
 public:
  RunReader(const Database& db, const SeriesCatalog& catalog) : db_(db), catalog_(catalog), samples_(db) {}

  absl::StatusOr<v1::NodeRun> Parse(const std::string& node, const TimeKey& key, std::string_view value) {
    v1::NodeRun run;
    run.set_node(node);
    bool metrics_apart = false;
    FM_RETURN_IF_ERROR(DecodeRun(value, run.mutable_run(), &metrics_apart));
    if (metrics_apart) FM_RETURN_IF_ERROR(AddMetrics(node, key, run.mutable_run()));
    return run;
  }

  absl::StatusOr<v1::NodeRun> ReadAt(const std::string& node, const TimeKey& key) {
    FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                        db_.Get(Family::kRuns, EncodeNodeTimeKey(node, key)));
    if (value.has_value()) return Parse(node, key, *value);
    return absl::DataLossError(absl::StrCat("run ", UlidToText(key.id), " is in an index but not stored"));
  }

 private:
  absl::Status AddMetrics(const std::string& node, const TimeKey& key, v1::Run* run) {
    const GroupPtr group = catalog_.Find(GroupText(GroupKeyOf(node, *run)));
    if (group == nullptr) return absl::OkStatus();
    FM_RETURN_IF_ERROR(samples_.ReadRow(*group, key.time_unix_ns, key.id, &cells_));
    for (const RowCell& cell : cells_) {
      const Group::Column* const column = group->FindColumn(cell.column);
      if (column == nullptr) continue;
      v1::Metric& metric = *run->add_metrics();
      metric.set_name(column->key->metric);
      metric.set_unit(column->key->unit);
      metric.set_better(column->better);
      metric.set_value(cell.value);
      for (const auto& [name, text] : column->key->labels) (*metric.mutable_labels())[name] = text;
      metric.set_repetitions(cell.repetitions);
      metric.set_relative_spread(cell.relative_spread);
    }
    return absl::OkStatus();
  }

  const Database& db_;
  const SeriesCatalog& catalog_;
  SampleReader samples_;
  std::vector<RowCell> cells_;
};

absl::StatusOr<std::vector<v1::NodeRun>> ListRunsOfNode(const Database& db, RunReader* reader,
                                                        const v1::ListRunsRequest& filter, const Page& page,
                                                        std::string* next_token) {
  const std::string prefix = NodePrefix(filter.node());
  return ListPage<v1::NodeRun>(
      db, Family::kRuns, NewestFirst(prefix, filter.range()), page, next_token,
      [&](std::string_view key, std::string_view value) -> absl::StatusOr<std::optional<v1::NodeRun>> {
        const std::optional<TimeKey> time_key = ParseTimeKey(key.substr(prefix.size()));
        if (!time_key.has_value()) return absl::DataLossError("a key of runs is malformed");
        v1::Run run;
        bool metrics_apart = false;
        FM_RETURN_IF_ERROR(DecodeRun(value, &run, &metrics_apart));
        if (!Matches(filter, run.benchmark(), run.outcome())) return std::nullopt;
        FM_ASSIGN_OR_RETURN(v1::NodeRun whole, reader->Parse(filter.node(), *time_key, value));
        return whole;
      });
}

}  // namespace

absl::StatusOr<bool> HasRun(const Database& db, const UlidBytes& id) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db.Get(Family::kRunIndex, UlidKey(id)));
  return value.has_value();
}

void PutRun(const std::string& node, const UlidBytes& id, const v1::Run& run, bool metrics_apart,
            WriteSet* writes, Counters* counters) {
  const int64_t time = RunUnixNs(run, id);
  if (!run.log_tail().empty()) {
    writes->Put(Family::kRunLogs, UlidKey(id), EncodeBytes(run.log_tail()));
  }
  writes->Put(Family::kRuns, EncodeNodeTimeKey(node, {time, id}), EncodeRun(run, metrics_apart));
  writes->Put(Family::kRunsByTime, EncodeTimeKey({time, id}),
              EncodeRunSummary({run.outcome(), node, run.benchmark()}));
  writes->Put(Family::kRunIndex, UlidKey(id), EncodeRunPlace({time, node}));
  ++counters->runs;
  ++counters->runs_by_outcome[static_cast<size_t>(run.outcome())];
}

absl::StatusOr<v1::NodeRun> ReadRun(const Database& db, const SeriesCatalog& catalog,
                                    const std::string& run_id) {
  const std::optional<UlidBytes> id = UlidFromText(run_id);
  if (!id.has_value()) return absl::InvalidArgumentError("run_id must be a ULID of 26 characters");
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> index, db.Get(Family::kRunIndex, UlidKey(*id)));
  if (!index.has_value()) return absl::NotFoundError(absl::StrCat("run ", run_id, " is not known"));
  FM_ASSIGN_OR_RETURN(const RunPlace place, DecodeRunPlace(*index));
  FM_ASSIGN_OR_RETURN(v1::NodeRun run, RunReader(db, catalog).ReadAt(place.node, {place.time_unix_ns, *id}));
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> log, db.Get(Family::kRunLogs, UlidKey(*id)));
  if (log.has_value()) {
    FM_ASSIGN_OR_RETURN(*run.mutable_run()->mutable_log_tail(), DecodeBytes(*log));
  }
  return run;
}

absl::StatusOr<std::vector<v1::NodeRun>> ListRuns(const Database& db, const SeriesCatalog& catalog,
                                                  const v1::ListRunsRequest& filter, const Page& page,
                                                  std::string* next_token) {
  RunReader reader(db, catalog);
  if (!filter.node().empty()) return ListRunsOfNode(db, &reader, filter, page, next_token);
  return ListPage<v1::NodeRun>(
      db, Family::kRunsByTime, NewestFirst("", filter.range()), page, next_token,
      [&](std::string_view key, std::string_view value) -> absl::StatusOr<std::optional<v1::NodeRun>> {
        FM_ASSIGN_OR_RETURN(const RunSummary summary, DecodeRunSummary(value));
        if (!Matches(filter, summary.benchmark, summary.outcome)) return std::nullopt;
        const std::optional<TimeKey> time_key = ParseTimeKey(key);
        if (!time_key.has_value()) return absl::DataLossError("a key of runs_by_time is malformed");
        FM_ASSIGN_OR_RETURN(v1::NodeRun run, reader.ReadAt(summary.node, *time_key));
        return run;
      });
}

}  // namespace fleetmark::collector
