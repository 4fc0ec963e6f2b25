// What the agent has to tell the collector, kept on disk until it is acknowledged: a bounded FIFO of
// records on SQLite.
//
// A record gets a sequence number that is never used again within an epoch. An epoch begins with the
// database: when that is lost or damaged, the agent is a new sender. (node, epoch, sequence) names a
// record for ever.
//
// Full by size or age: the oldest skipped runs are dropped first, then the oldest of the others. Each drop
// is counted durably, and a KIND_RECORDS_DROPPED event says how many. Drops that follow one another before
// that event is read share it, so the events' numbers add up to the count.
//
// Damage: a file that is no sound database, has not our tables, or is empty beside a write-ahead log that is
// not, is moved aside with its log to spool.db.corrupt-TIME (the newest is kept), a new epoch begins, and an
// event says so. A single record whose checksum is wrong is dropped and counted.
//
// Thread-safety: all methods, any thread. All but epoch() and stats() block on the disk.
// Ownership: owns the folder's spool.db*; one process at a time.
// Errors: ResourceExhausted (disk full: nothing was changed, try later), Unavailable (input or output
// failed), DataLoss (damaged just now and replaced: look at epoch() again), and where said.
#ifndef FLEETMARK_AGENT_SPOOL_SPOOL_H_
#define FLEETMARK_AGENT_SPOOL_SPOOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

class Database;

class Spool {
 public:
  // What may be dropped before what.
  enum class Kind { kSkipped = 0, kOther = 1 };

  struct Options {
    std::string folder;
    std::string node;                           // named in the spool's own events
    uint64_t max_bytes = 256 << 20;             // of records; the file may be up to twice as large
    absl::Duration max_age = absl::Hours(720);  // since the record was appended
  };

  struct Stats {
    uint64_t records = 0;
    uint64_t bytes = 0;
    absl::Time oldest = absl::InfiniteFuture();  // when the oldest record was appended
    uint64_t first_sequence = 0;                 // of the oldest record; last_sequence + 1 when there is none
    uint64_t last_sequence = 0;                  // the last one ever given out in this epoch
    uint64_t dropped = 0;                        // since the epoch began, over restarts
    uint64_t damaged_files = 0;                  // moved aside by this process
  };

  // Makes the folder. PermissionDenied and so on with the path when it can't be used; FailedPrecondition
  // when another process has the spool or a newer version wrote it; InvalidArgument for max_bytes < 64 KiB.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options, Clock& clock);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // OK, with the record's sequence, means that it is on disk. `record.sequence` is ignored. A skipped run
  // that meets a spool full of other records is itself what is dropped. InvalidArgument: larger than
  // limits::kRecordBytes or than the spool.
  absl::StatusOr<uint64_t> Append(v1::Record record, Kind kind);

  // Notes that a run is about to begin, on disk, so that it is known should the agent be killed meanwhile.
  // Append of its record ends that, in one step.
  absl::Status NoteStarted(const v1::Run& run);
  // Those noted and not ended: after a start, the runs that an earlier agent did not live to end.
  absl::StatusOr<std::vector<v1::Run>> StartedRuns();

  // The next records after `sequence`, ascending: as many as fit in `max_bytes`, at least one if there is
  // one, at most `max_records`.
  absl::StatusOr<v1::RecordBatch> ReadAfter(uint64_t sequence, uint64_t max_bytes, uint64_t max_records);

  // Forgets all records up to `sequence`. InvalidArgument when that was never given out.
  absl::Status Ack(uint64_t sequence);

  // Goes on under a new epoch with the same records and numbers. For when the collector knows numbers that
  // this spool never gave out: its file was set back to an older state, so numbers would be used twice.
  absl::Status BeginEpoch();

  // 32 hex digits. Changes with BeginEpoch and when damage is found.
  std::string epoch() const;
  Stats stats() const;

 private:
  // What is known of the database without asking it; replaced only after a commit.
  struct State {
    std::string epoch;
    uint64_t records = 0;
    uint64_t bytes = 0;
    absl::Time oldest = absl::InfiniteFuture();
    uint64_t first_sequence = 1;
    uint64_t last_sequence = 0;
    uint64_t dropped = 0;
    // The event that tells of drops and has not been read yet: its number, and how many it tells of.
    uint64_t report_sequence = 0;
    uint64_t report_drops = 0;
    // Both clocks at one moment, to notice when the wall clock is set.
    absl::Time seen_wall;
    MonoTime seen_mono;
  };

  // A record on disk that is to go, and what it counts for in State::bytes.
  struct Victim {
    uint64_t sequence;
    uint64_t cost;
  };

  Spool(const Options& options, Clock& clock);

  // Does nothing when it is open.
  absl::Status OpenOrReplace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OpenDatabase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Replace(const absl::Status& damage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LoadState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs `change` on a copy of the state in a transaction and keeps the copy when it is committed. A
  // database that turns out damaged is replaced; the error then is DataLoss.
  absl::Status Change(absl::FunctionRef<absl::Status(State&)> change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReplaceIfDamaged(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Parts of a change.
  absl::Status FollowWallClock(State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Insert(const v1::Record& record, int rank, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Delete(const Victim& victim, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Drop(const std::vector<Victim>& victims, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status DropTooOld(uint64_t keep, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status DropTooMany(uint64_t keep, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReportDrops(uint64_t drops, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status FindOldest(State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::StatusOr<v1::RecordBatch> ReadSound(uint64_t sequence, uint64_t max_bytes, uint64_t max_records,
                                            std::vector<Victim>& damaged) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const std::string path_;
  Clock& clock_;

  mutable Mutex mu_;  // held across disk access: it is the database's own lock
  std::unique_ptr<Database> database_ ABSL_GUARDED_BY(mu_);
  State state_ ABSL_GUARDED_BY(mu_);
  uint64_t damaged_files_ ABSL_GUARDED_BY(mu_) = 0;

  mutable Mutex published_mu_;  // never held across disk access
  std::string published_epoch_ ABSL_GUARDED_BY(published_mu_);
  Stats published_ ABSL_GUARDED_BY(published_mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SPOOL_SPOOL_H_
