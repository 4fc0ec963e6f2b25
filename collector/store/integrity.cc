#include "collector/store/integrity.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/column_codec.h"
#include "collector/store/database.h"
#include "collector/store/group_values.h"
#include "collector/store/keys.h"
#include "collector/store/tiers.h"
#include "collector/store/values.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

// Called for every entry that is wrong.
using OnFault = std::function<void(Family family, std::string_view key, const std::string& what)>;

class Inspector {
 public:
  Inspector(const Database& db, IntegrityReport* report, OnFault on_fault)
      : db_(db), report_(*report), on_fault_(std::move(on_fault)) {}

  absl::Status InspectAll() {
    using Check = absl::Status (Inspector::*)(std::string_view, std::string_view);
    struct Step {
      Family family;
      const char* name;
      Check check;
    };
    // What others refer to comes before them.
    const Step steps[] = {{Family::kGroups, "groups", &Inspector::Group},
                          {Family::kGroupStats, "group_stats", &Inspector::Stats},
                          {Family::kRows, "rows", &Inspector::Row},
                          {Family::kChunks, "chunks", &Inspector::Chunk},
                          {Family::kTiers, "tiers", &Inspector::Summaries},
                          {Family::kRuns, "runs", &Inspector::Run},
                          {Family::kRunsByTime, "runs_by_time", &Inspector::RunByTime}};
    for (const Step& step : steps) {
      FM_RETURN_IF_ERROR(
          Each(step.family, step.name, [this, &step](std::string_view key, std::string_view value) {
            return (this->*step.check)(key, value);
          }));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Each(Family family, const char* name,
                    const std::function<absl::Status(std::string_view, std::string_view)>& check) {
    Cursor cursor = db_.NewCursor(family);
    for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
      const absl::Status status = check(cursor.key(), cursor.value());
      if (status.ok()) continue;
      on_fault_(
          family, cursor.key(),
          absl::StrCat(name, ": key ",
                       absl::BytesToHexString(absl::string_view(cursor.key().data(), cursor.key().size())),
                       ": ", status.message()));
    }
    return Annotate(cursor.status(), name);
  }

  absl::Status Group(std::string_view key, std::string_view value) {
    const std::optional<uint32_t> id = ParseGroupIdKey(key);
    if (!id.has_value()) return absl::DataLossError("the key is malformed");
    FM_ASSIGN_OR_RETURN(const GroupRecord group, DecodeGroup(value));
    report_.series += group.columns.size();
    groups_[*id] = group.next_column;
    return absl::OkStatus();
  }

  absl::Status Stats(std::string_view key, std::string_view value) {
    FM_RETURN_IF_ERROR(KnownGroup(ParseGroupIdKey(key)));
    return DecodeGroupStats(value).status();
  }

  absl::Status Summaries(std::string_view key, std::string_view value) {
    const std::optional<TierKey> tier = ParseTierKey(key);
    FM_RETURN_IF_ERROR(KnownGroup(tier.has_value() ? std::optional(tier->group) : std::nullopt));
    std::vector<TierSummary> summaries;
    return DecodeSummaries(value, &summaries);
  }

  absl::Status Run(std::string_view, std::string_view value) {
    ++report_.runs;
    v1::Run run;
    bool metrics_apart = false;
    return DecodeRun(value, &run, &metrics_apart);
  }

  absl::Status KnownGroup(std::optional<uint32_t> id) const {
    if (!id.has_value()) return absl::DataLossError("the key is malformed");
    if (groups_.contains(*id)) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("what group ", *id, " is, is lost"));
  }

  absl::Status Row(std::string_view key, std::string_view value) {
    const std::optional<RowKey> row = ParseRowKey(key);
    FM_RETURN_IF_ERROR(KnownGroup(row.has_value() ? std::optional(row->group) : std::nullopt));
    std::vector<RowCell> cells;
    FM_RETURN_IF_ERROR(DecodeRow(value, &cells));
    ++report_.rows;
    if (!cells.empty() && cells.back().column >= groups_.at(row->group)) {
      return absl::DataLossError("it has a column that its group does not have");
    }
    return absl::OkStatus();
  }

  // Times come first, then the columns that must be as long.
  absl::Status Chunk(std::string_view key, std::string_view value) {
    const std::optional<ChunkKey> chunk = ParseChunkKey(key);
    FM_RETURN_IF_ERROR(KnownGroup(chunk.has_value() ? std::optional(chunk->group) : std::nullopt));
    ++report_.chunk_columns;
    if (chunk->group != chunk_group_) chunks_.clear();
    chunk_group_ = chunk->group;
    if (chunk->kind == ColumnKind::kTimes) return DecodeTimes(value, &chunks_[chunk->place]);
    const auto times = chunks_.find(chunk->place);
    if (times == chunks_.end()) return absl::DataLossError("its chunk's times are lost");
    if (chunk->kind == ColumnKind::kRuns) {
      std::string ids;
      return DecodeRunIds(value, times->second, &ids);
    }
    ValueColumn column;
    FM_RETURN_IF_ERROR(DecodeValues(value, &column));
    return column.rows == times->second.size() ? absl::OkStatus()
                                               : absl::DataLossError("it is not as long as its chunk");
  }

  absl::Status RunByTime(std::string_view key, std::string_view value) {
    const std::optional<TimeKey> time = ParseTimeKey(key);
    if (!time.has_value()) return absl::DataLossError("the key is malformed");
    FM_ASSIGN_OR_RETURN(const RunSummary summary, DecodeRunSummary(value));
    FM_ASSIGN_OR_RETURN(const auto run, db_.Get(Family::kRuns, EncodeNodeTimeKey(summary.node, *time)));
    if (!run.has_value()) return absl::DataLossError("the run is lost");
    FM_ASSIGN_OR_RETURN(const auto place, db_.Get(Family::kRunIndex, UlidKey(time->id)));
    return place.has_value() ? absl::OkStatus() : absl::DataLossError("the run's place in run_index is lost");
  }

  const Database& db_;
  IntegrityReport& report_;
  const OnFault on_fault_;
  std::map<uint32_t, uint16_t> groups_;  // with their next column
  uint32_t chunk_group_ = 0;
  std::map<ChunkPlace, std::vector<int64_t>> chunks_;  // of one group
};

void AddProblem(std::string problem, IntegrityReport* report) {
  if (report->problems.size() < IntegrityReport::kMaxProblems) {
    report->problems.push_back(std::move(problem));
  } else {
    ++report->more_problems;
  }
}

absl::Status MoveFile(const std::string& path, const std::string& folder) {
  std::error_code error;
  std::filesystem::rename(path, std::filesystem::path(folder) / std::filesystem::path(path).filename(),
                          error);
  return error ? absl::UnavailableError(absl::StrCat("moving ", path, ": ", error.message()))
               : absl::OkStatus();
}

}  // namespace

absl::StatusOr<IntegrityReport> CheckStore(const std::string& folder) {
  IntegrityReport report;
  for (const Database::FileFault& fault : Database::VerifyFiles(folder, &report.files)) {
    AddProblem(absl::StrCat(fault.path, fault.family.empty() ? "" : " of family ", fault.family, ": ",
                            Message(fault.status)),
               &report);
  }
  Database::Options options;
  options.folder = folder;
  options.read_only = true;
  const absl::StatusOr<std::unique_ptr<Database>> db = Database::Open(options);
  if (absl::IsFailedPrecondition(db.status())) return db.status();
  if (!db.ok()) {
    AddProblem(Message(db.status()), &report);
    return report;
  }
  const absl::Status read =
      Inspector(**db, &report, [&report](Family, std::string_view, const std::string& what) {
        AddProblem(what, &report);
      }).InspectAll();
  if (!read.ok()) AddProblem(Message(read), &report);
  return report;
}

absl::StatusOr<RepairReport> RepairStore(const std::string& folder) {
  RepairReport report;
  uint64_t files = 0;
  const std::vector<Database::FileFault> faults = Database::VerifyFiles(folder, &files);
  if (!faults.empty()) {
    report.quarantine = folder + "/quarantine";
    FM_RETURN_IF_ERROR(MakeFolders(report.quarantine, 0750));
  }
  for (const Database::FileFault& fault : faults) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(fault.path, error);
    report.quarantined.push_back({std::filesystem::path(fault.path).filename(), fault.family, fault.entries,
                                  error ? 0 : bytes, Message(fault.status)});
    FM_RETURN_IF_ERROR(MoveFile(fault.path, report.quarantine));
  }
  Database::Options options;
  options.folder = folder;
  FM_RETURN_IF_ERROR(Annotate(Database::Rebuild(options), "making a store of what can be read"));
  FM_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db, Database::Open(options));
  WriteSet writes = db->NewWriteSet();
  IntegrityReport found;
  FM_RETURN_IF_ERROR(Inspector(*db, &found, [&](Family family, std::string_view key, const std::string&) {
                       writes.Delete(family, key);
                       ++report.entries_dropped;
                     }).InspectAll());
  FM_RETURN_IF_ERROR(db->Write(std::move(writes)));
  return report;
}

}  // namespace fleetmark::collector
