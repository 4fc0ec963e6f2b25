#include "agent/spool/spool.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "agent/spool/database.h"
#include "agent/spool/schema.h"
#include "agent/spool/spool_file.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/limits.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kMinBytes = 64 * 1024;
constexpr uint64_t kRecordOverheadBytes = 64;  // row header, checksum, and its place in the index
constexpr uint64_t kReportBytes = 1024;        // kept free for the event that tells of drops
constexpr int kReportRank = 2;                 // dropped after everything of Spool::Kind
constexpr absl::Duration kWallStep = absl::Minutes(10);

int64_t ToInt(uint64_t n) { return static_cast<int64_t>(n); }
uint64_t ToUint(int64_t n) { return static_cast<uint64_t>(n); }
int64_t Checksum(std::string_view body) { return ToInt(StableHash64(body)); }

v1::Event NewEvent(absl::Time now, const std::string& node, v1::Event::Kind kind, std::string message) {
  v1::Event event;
  event.set_event_id(NewUlid(now));
  event.set_time_unix_ns(absl::ToUnixNanos(now));
  event.set_node(node);
  event.set_kind(kind);
  event.set_subject("spool");
  event.set_message(std::move(message));
  event.set_author("agent");
  return event;
}

}  // namespace

Spool::Spool(const Options& options, Clock& clock)
    : options_(options), path_(absl::StrCat(options.folder, "/spool.db")), clock_(clock) {}

Spool::~Spool() = default;

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const Options& options, Clock& clock) {
  if (options.max_bytes < kMinBytes) {
    return absl::InvalidArgumentError(absl::StrCat("spool: max_bytes must be at least ", kMinBytes));
  }
  std::unique_ptr<Spool> spool(new Spool(options, clock));
  FM_RETURN_IF_ERROR(Annotate(PrepareFolder(options.folder, spool->path_), "spool"));
  MutexLock lock(spool->mu_);
  FM_RETURN_IF_ERROR(Annotate(spool->OpenOrReplace(), "spool"));
  return spool;
}

absl::Status Spool::OpenOrReplace() {
  if (database_ != nullptr) return absl::OkStatus();
  const absl::Status status = OpenDatabase();
  if (status.ok()) return status;
  database_.reset();
  return absl::IsDataLoss(status) ? Replace(status) : status;
}

absl::Status Spool::Replace(const absl::Status& damage) {
  LogError("The spool is damaged; it is moved aside and a new epoch begins",
           {{"file", path_}, {"error", damage}});
  database_.reset();
  FM_ASSIGN_OR_RETURN(const std::string aside, SetAside(path_, clock_.Now()));
  ++damaged_files_;
  const absl::Status opened = OpenDatabase();
  // One without its tables, as on a full disk, must not stay open as if it were the spool.
  if (!opened.ok()) database_.reset();
  FM_RETURN_IF_ERROR(opened);
  return Change([&](State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    v1::Record record;
    *record.mutable_event() = NewEvent(clock_.Now(), options_.node, v1::Event::KIND_NOTE,
                                       absl::StrCat("the spool was damaged and moved to ", aside,
                                                    "; results that were not sent yet are lost"));
    return Insert(record, static_cast<int>(Kind::kOther), state);
  });
}

absl::Status Spool::OpenDatabase() {
  FM_RETURN_IF_ERROR(CheckNotEmptied(path_));
  FM_ASSIGN_OR_RETURN(database_, Database::Open(path_));
  FM_RETURN_IF_ERROR(Annotate(PrepareTables(*database_), path_));
  const absl::Status loaded = LoadState();
  // Our own statements fit our own tables.
  if (absl::IsInternal(loaded)) return absl::DataLossError(Message(loaded));
  return loaded;
}

absl::Status Spool::LoadState() {
  State state;
  state.seen_wall = clock_.Now();
  state.seen_mono = clock_.Mono();
  FM_RETURN_IF_ERROR(database_->Run("SELECT epoch, dropped FROM state", {}, [&](const Database::Row& row) {
    state.epoch = std::string(row.Blob(0));
    state.dropped = ToUint(row.Int(1));
    return true;
  }));
  if (state.epoch.size() != 32) return absl::DataLossError(absl::StrCat(path_, " has no epoch"));
  FM_RETURN_IF_ERROR(database_->Run("SELECT seq FROM sqlite_sequence", {}, [&](const Database::Row& row) {
    state.last_sequence = ToUint(row.Int(0));
    return true;
  }));
  FM_RETURN_IF_ERROR(
      database_->Run("SELECT count(*), total(length(body)) FROM records", {}, [&](const auto& row) {
        state.records = ToUint(row.Int(0));
        state.bytes = ToUint(row.Int(1)) + state.records * kRecordOverheadBytes;
        return true;
      }));
  FM_RETURN_IF_ERROR(FindOldest(state));
  state_ = std::move(state);
  Publish();
  return absl::OkStatus();
}

absl::Status Spool::Change(absl::FunctionRef<absl::Status(State&)> change) {
  State next = state_;
  const absl::Status status = database_->Transact([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
    FM_RETURN_IF_ERROR(change(next));
    FM_RETURN_IF_ERROR(FindOldest(next));
    return database_->Run("UPDATE state SET epoch = ?, dropped = ? WHERE epoch <> ?1 OR dropped <> ?2",
                          {std::string_view(next.epoch), ToInt(next.dropped)});
  });
  if (!status.ok()) return ReplaceIfDamaged(status);
  state_ = std::move(next);
  Publish();
  return absl::OkStatus();
}

absl::Status Spool::ReplaceIfDamaged(const absl::Status& status) {
  if (absl::IsDataLoss(status)) FM_RETURN_IF_ERROR(Annotate(Replace(status), "spool"));
  return Annotate(status, "spool");
}

absl::StatusOr<uint64_t> Spool::Append(v1::Record record, Kind kind) {
  record.clear_sequence();
  const uint64_t cost = record.ByteSizeLong() + kRecordOverheadBytes;
  if (cost > limits::kRecordBytes || cost > options_.max_bytes - kReportBytes) {
    return absl::InvalidArgumentError(absl::StrCat("spool: a record of ", cost, " bytes is too large"));
  }
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  uint64_t sequence = 0;
  const auto append = [&](State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
    FM_RETURN_IF_ERROR(FollowWallClock(state));
    FM_RETURN_IF_ERROR(Insert(record, static_cast<int>(kind), state));
    sequence = state.last_sequence;
    if (record.has_run()) {
      FM_RETURN_IF_ERROR(
          database_->Run("DELETE FROM started WHERE run_id = ?", {std::string_view(record.run().run_id())}));
    }
    const uint64_t keep = kind == Kind::kSkipped ? 0 : sequence;
    FM_RETURN_IF_ERROR(DropTooOld(keep, state));
    return DropTooMany(keep, state);
  };
  absl::Status status = Change(append);
  // Into the new database, if one could be made.
  if (absl::IsDataLoss(status) && database_ != nullptr) status = Change(append);
  if (!status.ok()) return status;
  return sequence;
}

absl::Status Spool::NoteStarted(const v1::Run& run) {
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  const std::string body = run.SerializeAsString();
  const absl::Status status = database_->Run("INSERT OR REPLACE INTO started VALUES (?, ?)",
                                             {std::string_view(run.run_id()), std::string_view(body)});
  return status.ok() ? status : ReplaceIfDamaged(status);
}

absl::StatusOr<std::vector<v1::Run>> Spool::StartedRuns() {
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  std::vector<v1::Run> runs;
  const absl::Status status = database_->Run("SELECT body FROM started ORDER BY run_id LIMIT 1000", {},
                                             [&](const Database::Row& row) {
                                               v1::Run run;
                                               if (run.ParseFromString(std::string(row.Blob(0))))
                                                 runs.push_back(std::move(run));
                                               return true;
                                             });
  if (!status.ok()) return ReplaceIfDamaged(status);
  return runs;
}

absl::StatusOr<v1::RecordBatch> Spool::ReadAfter(uint64_t sequence, uint64_t max_bytes,
                                                 uint64_t max_records) {
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  while (true) {
    std::vector<Victim> damaged;
    absl::StatusOr<v1::RecordBatch> batch = ReadSound(sequence, max_bytes, max_records, damaged);
    if (!batch.ok()) return ReplaceIfDamaged(batch.status());
    if (!damaged.empty()) {
      LogError("Records in the spool are damaged and dropped", {{"records", damaged.size()}});
      FM_RETURN_IF_ERROR(
          Change([&](State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return Drop(damaged, state); }));
      if (batch->records().empty()) continue;
    }
    const bool report_was_read = !batch->records().empty() &&
                                 batch->records().rbegin()->sequence() >= state_.report_sequence &&
                                 state_.report_sequence > sequence;
    if (report_was_read) state_.report_sequence = state_.report_drops = 0;
    return batch;
  }
}

absl::StatusOr<v1::RecordBatch> Spool::ReadSound(uint64_t sequence, uint64_t max_bytes, uint64_t max_records,
                                                 std::vector<Victim>& damaged) {
  v1::RecordBatch batch;
  uint64_t bytes = 0;
  FM_RETURN_IF_ERROR(database_->Run(
      "SELECT sequence, checksum, body FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?",
      {ToInt(sequence), ToInt(max_records)}, [&](const Database::Row& row) {
        const std::string_view body = row.Blob(2);
        bytes += body.size();
        if (bytes > max_bytes && !batch.records().empty()) return false;
        v1::Record record;
        if (Checksum(body) != row.Int(1) ||
            !record.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
          damaged.push_back({ToUint(row.Int(0)), body.size() + kRecordOverheadBytes});
          return true;
        }
        record.set_sequence(ToUint(row.Int(0)));
        *batch.add_records() = std::move(record);
        return true;
      }));
  return batch;
}

absl::Status Spool::Ack(uint64_t sequence) {
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  if (sequence > state_.last_sequence) {
    return absl::InvalidArgumentError(
        absl::StrCat("spool: ", sequence, " was never given out; the last one was ", state_.last_sequence));
  }
  if (state_.records == 0 || sequence < state_.first_sequence) return absl::OkStatus();
  return Change([&](State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
    FM_RETURN_IF_ERROR(database_->Run("SELECT count(*), total(length(body)) FROM records WHERE sequence <= ?",
                                      {ToInt(sequence)}, [&](const Database::Row& row) {
                                        const uint64_t records = ToUint(row.Int(0));
                                        state.records -= records;
                                        state.bytes -= ToUint(row.Int(1)) + records * kRecordOverheadBytes;
                                        return true;
                                      }));
    if (state.report_sequence <= sequence) state.report_sequence = state.report_drops = 0;
    return database_->Run("DELETE FROM records WHERE sequence <= ?", {ToInt(sequence)});
  });
}

absl::Status Spool::BeginEpoch() {
  MutexLock lock(mu_);
  FM_RETURN_IF_ERROR(Annotate(OpenOrReplace(), "spool"));
  return Change([](State& state) {
    state.epoch = RandomHex128();
    return absl::OkStatus();
  });
}

absl::Status Spool::Insert(const v1::Record& record, int rank, State& state) {
  const std::string body = record.SerializeAsString();
  FM_RETURN_IF_ERROR(database_->Run(
      "INSERT INTO records (rank, time_unix_ns, checksum, body) VALUES (?, ?, ?, ?)",
      {int64_t{rank}, absl::ToUnixNanos(clock_.Now()), Checksum(body), std::string_view(body)}));
  state.last_sequence = ToUint(database_->last_insert_id());
  state.records += 1;
  state.bytes += body.size() + kRecordOverheadBytes;
  return absl::OkStatus();
}

absl::Status Spool::Delete(const Victim& victim, State& state) {
  FM_RETURN_IF_ERROR(database_->Run("DELETE FROM records WHERE sequence = ?", {ToInt(victim.sequence)}));
  state.records -= 1;
  state.bytes -= victim.cost;
  return absl::OkStatus();
}

absl::Status Spool::Drop(const std::vector<Victim>& victims, State& state) {
  if (victims.empty()) return absl::OkStatus();
  for (const Victim& victim : victims) {
    if (victim.sequence == state.report_sequence) state.report_sequence = state.report_drops = 0;
    FM_RETURN_IF_ERROR(Delete(victim, state));
  }
  state.dropped += victims.size();
  return ReportDrops(victims.size(), state);
}

absl::Status Spool::DropTooOld(uint64_t keep, State& state) {
  const absl::Time limit = clock_.Now() - options_.max_age;
  if (state.records == 0 || state.oldest >= limit) return absl::OkStatus();
  std::vector<Victim> victims;
  FM_RETURN_IF_ERROR(
      database_->Run("SELECT sequence, length(body) FROM records WHERE time_unix_ns < ? AND sequence <> ?",
                     {absl::ToUnixNanos(limit), ToInt(keep)}, [&](const Database::Row& row) {
                       victims.push_back({ToUint(row.Int(0)), ToUint(row.Int(1)) + kRecordOverheadBytes});
                       return true;
                     }));
  return Drop(victims, state);
}

absl::Status Spool::DropTooMany(uint64_t keep, State& state) {
  const uint64_t limit = options_.max_bytes - kReportBytes;
  if (state.bytes <= limit) return absl::OkStatus();
  std::vector<Victim> victims;
  uint64_t left = state.bytes;
  FM_RETURN_IF_ERROR(
      database_->Run("SELECT sequence, length(body) FROM records WHERE sequence <> ? ORDER BY rank, sequence",
                     {ToInt(keep)}, [&](const Database::Row& row) {
                       victims.push_back({ToUint(row.Int(0)), ToUint(row.Int(1)) + kRecordOverheadBytes});
                       left -= victims.back().cost;
                       return left > limit;
                     }));
  return Drop(victims, state);
}

absl::Status Spool::ReportDrops(uint64_t drops, State& state) {
  if (state.report_sequence != 0) {
    // Nobody has read the last report yet: this one takes its place, under a number of its own.
    Victim report{state.report_sequence, kRecordOverheadBytes};
    FM_RETURN_IF_ERROR(database_->Run("SELECT length(body) FROM records WHERE sequence = ?",
                                      {ToInt(report.sequence)}, [&](const Database::Row& row) {
                                        report.cost += ToUint(row.Int(0));
                                        return true;
                                      }));
    FM_RETURN_IF_ERROR(Delete(report, state));
  }
  state.report_drops += drops;
  v1::Record record;
  v1::Event& event = *record.mutable_event();
  event = NewEvent(clock_.Now(), options_.node, v1::Event::KIND_RECORDS_DROPPED,
                   absl::StrCat("the spool was full or damaged: ", state.report_drops, " records dropped"));
  event.set_new_value(absl::StrCat(state.report_drops));
  FM_RETURN_IF_ERROR(Insert(record, kReportRank, state));
  state.report_sequence = state.last_sequence;
  return absl::OkStatus();
}

absl::Status Spool::FindOldest(State& state) {
  state.oldest = absl::InfiniteFuture();
  state.first_sequence = state.last_sequence + 1;
  return database_->Run("SELECT sequence, time_unix_ns FROM records ORDER BY sequence LIMIT 1", {},
                        [&](const Database::Row& row) {
                          state.first_sequence = ToUint(row.Int(0));
                          state.oldest = absl::FromUnixNanos(row.Int(1));
                          return true;
                        });
}

// A wall clock that is set right must not make records look years old: their stamps move with it.
absl::Status Spool::FollowWallClock(State& state) {
  const absl::Time wall = clock_.Now();
  const MonoTime mono = clock_.Mono();
  const absl::Duration step = (wall - state.seen_wall) - (mono - state.seen_mono);
  state.seen_wall = wall;
  state.seen_mono = mono;
  if (absl::AbsDuration(step) < kWallStep) return absl::OkStatus();
  state.oldest += step;
  return database_->Run("UPDATE records SET time_unix_ns = time_unix_ns + ?",
                        {absl::ToInt64Nanoseconds(step)});
}

void Spool::Publish() {
  MutexLock lock(published_mu_);
  published_epoch_ = state_.epoch;
  published_ = {state_.records,       state_.bytes,   state_.oldest, state_.first_sequence,
                state_.last_sequence, state_.dropped, damaged_files_};
}

std::string Spool::epoch() const {
  MutexLock lock(published_mu_);
  return published_epoch_;
}

Spool::Stats Spool::stats() const {
  MutexLock lock(published_mu_);
  return published_;
}

}  // namespace fleetmark::agent
