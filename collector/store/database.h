// RocksDB as the store uses it: column families by name, synced atomic writes guarded against a full disk,
// cursors. The only file of the project that includes RocksDB is database.cc.
//
// Thread-safety: Database: all methods, any thread. WriteSet, Cursor: one thread at a time.
// Ownership: snapshots, cursors and write sets must not outlive their database.
// Errors: DataLoss (something on disk can't be read), ResourceExhausted (too little disk space is free),
// Unavailable (input or output failed; writes are refused from then on), FailedPrecondition (a newer
// format; another process has it open).
#ifndef FLEETMARK_COLLECTOR_STORE_DATABASE_H_
#define FLEETMARK_COLLECTOR_STORE_DATABASE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rocksdb {
class Env;
}

namespace fleetmark::collector {

enum class Family {
  kMeta,
  kNodes,
  kGroups,
  kGroupStats,
  kRows,
  kChunks,
  kTierDays,
  kTiers,
  kRuns,
  kRunsByTime,
  kRunIndex,
  kRunLogs,
  kFindings,
  kOpenFindings,
  kEvents,
  kEventsByNode,
  kSenders,
  kDirtyGroups,
  kDetectorState,
  kAlerts,
  kAlertHistory,
  kNotices,
  kDeadNotices,
  kSilences,
  kAudit,
  kActions,
  kActionHistory,
};

// Changes that become durable together.
class WriteSet {
 public:
  WriteSet(WriteSet&&) noexcept;
  ~WriteSet();
  void Put(Family family, std::string_view key, std::string_view value);
  void Delete(Family family, std::string_view key);
  // For a key that was put exactly once: the two annihilate each other as soon as they meet.
  void SingleDelete(Family family, std::string_view key);
  size_t bytes() const;

 private:
  friend class Database;
  struct Impl;
  explicit WriteSet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The database as it is at one time, for reads that must agree with one another.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

 private:
  friend class Database;
  struct Impl;
  explicit Snapshot(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A position in one family, as of the time it was made.
class Cursor {
 public:
  Cursor(Cursor&&) noexcept;
  ~Cursor();
  void Seek(std::string_view key);        // the first key at or after
  void SeekBefore(std::string_view key);  // the last key before
  void SeekToLast();
  void Next();
  void Prev();
  bool Valid() const;
  std::string_view key() const;
  std::string_view value() const;
  absl::Status status() const;  // to be asked once Valid is false

 private:
  friend class Database;
  struct Impl;
  explicit Cursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Database {
 public:
  struct Options {
    std::string folder;  // made when missing
    uint64_t cache_bytes = 64 << 20;
    uint64_t write_buffer_bytes = 32 << 20;
    uint64_t reserve_bytes = 256 << 20;
    // Nothing is written, not even a lock: for checks of a store that no process has open.
    bool read_only = false;
    rocksdb::Env* env = nullptr;  // tests put a faulty disk there; null: the machine's
  };

  // Reads every table file of the folder, whether the store can be opened or not.
  struct FileFault {
    std::string path;
    std::string family;  // empty when the file does not tell it any more
    uint64_t entries = 0;
    absl::Status status;
  };
  static std::vector<FileFault> VerifyFiles(const std::string& folder, uint64_t* files);

  // Makes a store of what can still be read; `bad_files` must be out of the way already. FailedPrecondition
  // while a process has it open.
  static absl::Status Rebuild(const Options& options);

  // While this file is in the folder, its store is being replaced, and is not opened.
  static constexpr char kRestoreMark[] = "RESTORE_UNDER_WAY";

  // FailedPrecondition while a process has the folder's store open; OK also where there is none.
  static absl::Status CheckUnused(const std::string& folder);

  static absl::StatusOr<std::unique_ptr<Database>> Open(const Options& options);
  ~Database();

  absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const;
  Cursor NewCursor(Family family) const;
  Snapshot NewSnapshot() const;
  Cursor NewCursor(Family family, const Snapshot& snapshot) const;

  WriteSet NewWriteSet() const;
  // All of it, on disk, or nothing. Blocks for the disk.
  absl::Status Write(WriteSet&& set);

  // OK while writes are taken; else why not.
  absl::Status Health() const;

  uint64_t DiskBytes() const;
  // Of the table files of each family, by its name.
  std::vector<std::pair<std::string, uint64_t>> BytesByFamily() const;

  // A copy, as of now, in a folder that does not exist yet: AlreadyExists if it does.
  absl::Status Checkpoint(const std::string& folder);

  // Rewrites everything that is worth rewriting. Blocks for as long as that takes.
  absl::Status Compact();

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_DATABASE_H_
