#include "collector/store/database.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/write_batch.h"
#include "rocksdb/write_buffer_manager.h"

#include "collector/store/log_tail.h"
#include "collector/store/values.h"
#include "common/base/file.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr uint64_t kFormatVersion = 2;
constexpr std::string_view kFormatKey = "format";

// Indexed by Family. RocksDB's own "default" must exist and stays empty.
constexpr std::array kFamilyNames = {
    "meta",           "nodes",     "groups",       "group_stats",    "rows",
    "chunks",         "tier_days", "tiers",        "runs",           "runs_by_time",
    "run_index",      "run_logs",  "findings",     "open_findings",  "events",
    "events_by_node", "senders",   "dirty_groups", "detector_state", "alerts",
    "alert_history",  "notices",   "dead_notices", "silences",       "audit",
};
static_assert(kFamilyNames.size() == static_cast<size_t>(Family::kAudit) + 1);

rocksdb::Slice ToSlice(std::string_view s) { return {s.data(), s.size()}; }
std::string_view ToView(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

absl::Status FromRocks(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = status.ToString();
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(text);
  if (status.IsCorruption()) return absl::DataLossError(text);
  if (status.IsInvalidArgument() || status.IsNotSupported()) return absl::InternalError(text);
  return absl::UnavailableError(text);
}

rocksdb::DBOptions DbOptions(const Database::Options& options, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::DBOptions db;
  if (options.env != nullptr) db.env = options.env;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  db.track_and_verify_wals_in_manifest = true;
  // Point-in-time recovery, the default, silently drops everything after a damaged record in the middle.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.max_open_files = 512;
  db.max_background_jobs = 2;
  db.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(options.write_buffer_bytes, cache);
  db.max_total_wal_size = 64 << 20;  // bounds the time that opening takes
  db.keep_log_file_num = 4;
  db.max_log_file_size = 4 << 20;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

// What one family's entries are like; docs/storage-format.md gives the reason for each row.
struct FamilyTraits {
  uint64_t write_share = 16;  // of the memory for write buffers, this part for one of the family
  size_t block_bytes = 4 << 10;
  bool compress = true;
  bool dictionary = false;
  bool bloom = false;  // it is asked for keys that are often not there
};

FamilyTraits TraitsOf(Family family) {
  switch (family) {
    case Family::kRows:
      return {.write_share = 3, .block_bytes = 8 << 10, .compress = false};
    case Family::kChunks:
      return {.write_share = 4, .block_bytes = 8 << 10, .compress = false};
    case Family::kTiers:
      return {.block_bytes = 8 << 10, .compress = false};
    case Family::kRuns:
      return {.write_share = 4, .block_bytes = 16 << 10, .dictionary = true};
    case Family::kGroups:
    case Family::kGroupStats:
    case Family::kEvents:
    case Family::kAudit:
    case Family::kDetectorState:
      return {.block_bytes = 16 << 10, .dictionary = true};
    case Family::kRunIndex:
      return {.write_share = 8, .bloom = true};
    case Family::kRunLogs:
    case Family::kRunsByTime:
      return {.write_share = 8, .block_bytes = 16 << 10};
    default:
      return {.bloom = true};
  }
}

rocksdb::ColumnFamilyOptions FamilyOptions(const Database::Options& options, const FamilyTraits& traits,
                                           const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.block_size = traits.block_bytes;
  if (traits.bloom) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  family.write_buffer_size = std::max<uint64_t>(options.write_buffer_bytes / traits.write_share, 1 << 20);
  family.arena_block_size = 64 << 10;  // most families are small
  family.target_file_size_base = 16 << 20;
  // One compaction writes less than the reserve, so that the guard before each write sees it coming.
  family.max_compaction_bytes = 128 << 20;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = traits.compress ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  family.bottommost_compression = traits.compress ? rocksdb::kZSTD : rocksdb::kNoCompression;
  if (traits.dictionary) {
    family.bottommost_compression_opts.enabled = true;
    family.bottommost_compression_opts.max_dict_bytes = 16 << 10;
    family.bottommost_compression_opts.zstd_max_train_bytes = 1 << 20;
  }
  if (traits.bloom) {
    family.memtable_whole_key_filtering = true;
    family.memtable_prefix_bloom_size_ratio = 0.05;
  }
  return family;
}

// Where ranges may have been deleted, which never happens here, RocksDB 7.8 looks for that at the border of
// two files of a level, and forgets there that the second one could not be read (mended in 8.7): its keys
// would be missing without an error.
rocksdb::ReadOptions IteratorOptions() {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = true;
  return options;
}

// Format 1 kept each sample under a key of its own, in this family.
constexpr char kFormat1Family[] = "samples";

// A family that this program does not know comes from a newer one.
absl::Status CheckFamilies(const std::string& folder) {
  std::vector<std::string> names;
  // Fails where there is no database yet; opening tells every other reason.
  if (!rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), folder, &names).ok()) return absl::OkStatus();
  for (const std::string& name : names) {
    if (name == rocksdb::kDefaultColumnFamilyName) continue;
    if (name == kFormat1Family) {
      return absl::FailedPreconditionError(
          absl::StrCat("store ", folder,
                       " has format 1, which this program does not read; move the folder "
                       "away and start anew (docs/storage-format.md, \"Versions\")"));
    }
    if (std::find(kFamilyNames.begin(), kFamilyNames.end(), name) == kFamilyNames.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("store ", folder, " has the column family '", name,
                       "', which this program does not know; it was written by a newer one"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNotBeingReplaced(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(absl::StrCat(folder, "/", Database::kRestoreMark), error))
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a restore of store ", folder, " was interrupted; run it again"));
}

absl::Status Damaged(const absl::Status& status, const std::string& folder) {
  return absl::DataLossError(absl::StrCat("store ", folder,
                                          " is damaged and was left as it is: ", Message(status),
                                          " (docs/storage-format.md, \"Recovery\", says what can be done)"));
}

absl::Status OpenError(const rocksdb::Status& status, const std::string& folder) {
  const std::string text = status.ToString();
  if (status.IsIOError() && absl::StrContains(text, "/LOCK:")) {
    return absl::FailedPreconditionError(absl::StrCat("store ", folder, " is open in another process"));
  }
  if (status.IsCorruption()) return Damaged(FromRocks(status), folder);
  return Annotate(FromRocks(status), absl::StrCat("opening store ", folder));
}

std::vector<rocksdb::ColumnFamilyDescriptor> AllFamilies(const Database::Options& options,
                                                         const std::shared_ptr<rocksdb::Cache>& cache) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < kFamilyNames.size(); ++i) {
    families.emplace_back(kFamilyNames[i], FamilyOptions(options, TraitsOf(static_cast<Family>(i)), cache));
  }
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, FamilyOptions(options, {}, cache));
  return families;
}

}  // namespace

struct Database::Impl {
  Options options;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // by Family, then the default one
  mutable Mutex mu;
  absl::Status broken ABSL_GUARDED_BY(mu);  // the first write error, for good

  ~Impl() {
    if (db == nullptr) return;
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    db->Close();
  }

  rocksdb::ColumnFamilyHandle* Handle(Family family) const { return handles[static_cast<size_t>(family)]; }

  absl::Status CheckFormat();
  absl::Status CheckSpace(size_t write_bytes) const;
  absl::Status CheckWritable(size_t write_bytes) const {
    {
      MutexLock lock(mu);
      FM_RETURN_IF_ERROR(broken);
    }
    return CheckSpace(write_bytes);
  }
};

struct WriteSet::Impl {
  explicit Impl(const std::vector<rocksdb::ColumnFamilyHandle*>& by_family) : handles(by_family) {}
  const std::vector<rocksdb::ColumnFamilyHandle*>& handles;
  rocksdb::WriteBatch batch;
};

struct Snapshot::Impl {
  Impl(rocksdb::DB* of, const rocksdb::Snapshot* what) : db(of), snapshot(what) {}
  ~Impl() { db->ReleaseSnapshot(snapshot); }
  rocksdb::DB* const db;
  const rocksdb::Snapshot* const snapshot;
};

struct Cursor::Impl {
  std::unique_ptr<rocksdb::Iterator> it;
};

absl::Status Database::Impl::CheckFormat() {
  std::string value;
  const rocksdb::Status status =
      db->Get(rocksdb::ReadOptions(), Handle(Family::kMeta), ToSlice(kFormatKey), &value);
  if (status.IsNotFound()) {
    rocksdb::WriteOptions synced;
    synced.sync = true;
    return FromRocks(
        db->Put(synced, Handle(Family::kMeta), ToSlice(kFormatKey), EncodeNumber(kFormatVersion)));
  }
  FM_RETURN_IF_ERROR(FromRocks(status));
  FM_ASSIGN_OR_RETURN(const uint64_t version, DecodeNumber(value));
  if (version > kFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("store ", options.folder, " has format ", version,
                                                      "; this program knows formats up to ", kFormatVersion));
  }
  return absl::OkStatus();
}

// Debian's RocksDB aborts the process when the write-ahead log meets a full disk, so it never may.
absl::Status Database::Impl::CheckSpace(size_t write_bytes) const {
  struct statvfs fs {};
  if (statvfs(options.folder.c_str(), &fs) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statvfs ", options.folder));
  }
  const uint64_t free_bytes = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
  if (free_bytes >= options.reserve_bytes + write_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("only ", free_bytes >> 20, " MiB are free for ",
                                                   options.folder, "; writes need ",
                                                   options.reserve_bytes >> 20, " MiB to remain free"));
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const Options& options) {
  if (!options.read_only) {
    FM_RETURN_IF_ERROR(Annotate(MakeFolders(options.folder, 0750), "making the store's folder"));
  }
  FM_RETURN_IF_ERROR(CheckNotBeingReplaced(options.folder));
  FM_RETURN_IF_ERROR(CheckFamilies(options.folder));
  if (const absl::Status logs = CheckLogTails(options.folder); !logs.ok())
    return Damaged(logs, options.folder);
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  if (!options.read_only) FM_RETURN_IF_ERROR(impl->CheckSpace(0));  // opening writes too

  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.cache_bytes);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = AllFamilies(options, cache);
  rocksdb::DB* db = nullptr;
  const rocksdb::DBOptions db_options = DbOptions(options, cache);
  const rocksdb::Status status =
      options.read_only
          ? rocksdb::DB::OpenForReadOnly(db_options, options.folder, families, &impl->handles, &db)
          : rocksdb::DB::Open(db_options, options.folder, families, &impl->handles, &db);
  if (!status.ok()) return OpenError(status, options.folder);
  impl->db.reset(db);
  if (!options.read_only) FM_RETURN_IF_ERROR(impl->CheckFormat());
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

std::vector<Database::FileFault> Database::VerifyFiles(const std::string& folder, uint64_t* files) {
  std::vector<FileFault> faults;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".sst") continue;
    ++*files;
    FileFault fault;
    fault.path = it->path();
    rocksdb::SstFileReader reader{rocksdb::Options()};
    rocksdb::Status status = reader.Open(fault.path);
    if (status.ok()) {
      if (const auto properties = reader.GetTableProperties(); properties != nullptr) {
        fault.family = properties->column_family_name;
        fault.entries = properties->num_entries;
      }
      status = reader.VerifyChecksum();
    }
    fault.status = FromRocks(status);
    if (!fault.status.ok()) faults.push_back(std::move(fault));
  }
  return faults;
}

absl::Status Database::CheckUnused(const std::string& folder) {
  const std::string path = folder + "/LOCK";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  rocksdb::Env* const env = rocksdb::Env::Default();
  rocksdb::FileLock* lock = nullptr;
  if (!env->LockFile(path, &lock).ok()) {
    return absl::FailedPreconditionError(absl::StrCat("store ", folder, " is open in another process"));
  }
  return FromRocks(env->UnlockFile(lock));
}

absl::Status Database::Rebuild(const Options& options) {
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.cache_bytes);
  const rocksdb::Status status =
      rocksdb::RepairDB(options.folder, DbOptions(options, cache), AllFamilies(options, cache));
  return status.ok() ? absl::OkStatus() : OpenError(status, options.folder);
}

absl::StatusOr<std::optional<std::string>> Database::Get(Family family, std::string_view key) const {
  std::string value;
  const rocksdb::Status status =
      impl_->db->Get(rocksdb::ReadOptions(), impl_->Handle(family), ToSlice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  FM_RETURN_IF_ERROR(Annotate(FromRocks(status), kFamilyNames[static_cast<size_t>(family)]));
  return value;
}

Cursor Database::NewCursor(Family family) const {
  auto impl = std::make_unique<Cursor::Impl>();
  impl->it.reset(impl_->db->NewIterator(IteratorOptions(), impl_->Handle(family)));
  return Cursor(std::move(impl));
}

Snapshot Database::NewSnapshot() const {
  return Snapshot(std::make_unique<Snapshot::Impl>(impl_->db.get(), impl_->db->GetSnapshot()));
}

Cursor Database::NewCursor(Family family, const Snapshot& snapshot) const {
  rocksdb::ReadOptions options = IteratorOptions();
  options.snapshot = snapshot.impl_->snapshot;
  auto impl = std::make_unique<Cursor::Impl>();
  impl->it.reset(impl_->db->NewIterator(options, impl_->Handle(family)));
  return Cursor(std::move(impl));
}

absl::Status Database::Checkpoint(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error)) {
    return absl::AlreadyExistsError(absl::StrCat(folder, " exists; a backup needs a folder of its own"));
  }
  FM_RETURN_IF_ERROR(impl_->CheckWritable(0));
  rocksdb::Checkpoint* made = nullptr;
  FM_RETURN_IF_ERROR(FromRocks(rocksdb::Checkpoint::Create(impl_->db.get(), &made)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  return Annotate(FromRocks(checkpoint->CreateCheckpoint(folder)), absl::StrCat("backup to ", folder));
}

absl::Status Database::Compact() {
  FM_RETURN_IF_ERROR(impl_->CheckWritable(0));
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* handle : impl_->handles) {
    FM_RETURN_IF_ERROR(Annotate(FromRocks(impl_->db->CompactRange(options, handle, nullptr, nullptr)),
                                absl::StrCat("compacting ", handle->GetName())));
  }
  return absl::OkStatus();
}

WriteSet Database::NewWriteSet() const { return WriteSet(std::make_unique<WriteSet::Impl>(impl_->handles)); }

absl::Status Database::Write(WriteSet&& set) {
  if (set.impl_->batch.Count() == 0) return absl::OkStatus();
  FM_RETURN_IF_ERROR(impl_->CheckWritable(set.bytes()));
  rocksdb::WriteOptions synced;
  synced.sync = true;
  absl::Status status = FromRocks(impl_->db->Write(synced, &set.impl_->batch));
  // A full disk was met by a flush, nothing was written, and RocksDB resumes when there is space. After
  // any other failure it isn't known what is on disk until the store is opened again.
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  status = absl::UnavailableError(
      absl::StrCat("writing failed, and nothing is written until a restart: ", status.message()));
  MutexLock lock(impl_->mu);
  if (impl_->broken.ok()) impl_->broken = status;
  return status;
}

absl::Status Database::Health() const { return impl_->CheckWritable(0); }

uint64_t Database::DiskBytes() const {
  uint64_t total = 0;
  std::error_code error;  // files come and go meanwhile
  for (std::filesystem::directory_iterator it(impl_->options.folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    const uintmax_t size = it->file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

std::vector<std::pair<std::string, uint64_t>> Database::BytesByFamily() const {
  std::vector<std::pair<std::string, uint64_t>> bytes;
  for (size_t i = 0; i < kFamilyNames.size(); ++i) {
    uint64_t size = 0;
    impl_->db->GetIntProperty(impl_->handles[i], rocksdb::DB::Properties::kTotalSstFilesSize, &size);
    bytes.emplace_back(kFamilyNames[i], size);
  }
  return bytes;
}

WriteSet::WriteSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WriteSet::WriteSet(WriteSet&&) noexcept = default;
WriteSet::~WriteSet() = default;

// Adding to a batch fails only for a family or a size that the batch can't hold, which is a bug; Write
// then fails too.
void WriteSet::Put(Family family, std::string_view key, std::string_view value) {
  impl_->batch.Put(impl_->handles[static_cast<size_t>(family)], ToSlice(key), ToSlice(value))
      .PermitUncheckedError();
}

void WriteSet::Delete(Family family, std::string_view key) {
  impl_->batch.Delete(impl_->handles[static_cast<size_t>(family)], ToSlice(key)).PermitUncheckedError();
}

void WriteSet::SingleDelete(Family family, std::string_view key) {
  impl_->batch.SingleDelete(impl_->handles[static_cast<size_t>(family)], ToSlice(key)).PermitUncheckedError();
}

size_t WriteSet::bytes() const { return impl_->batch.GetDataSize(); }

Snapshot::Snapshot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot::~Snapshot() = default;

Cursor::Cursor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

void Cursor::Seek(std::string_view key) { impl_->it->Seek(ToSlice(key)); }
void Cursor::SeekBefore(std::string_view key) {
  impl_->it->SeekForPrev(ToSlice(key));
  if (impl_->it->Valid() && ToView(impl_->it->key()) == key) impl_->it->Prev();
}
void Cursor::SeekToLast() { impl_->it->SeekToLast(); }
void Cursor::Next() { impl_->it->Next(); }
void Cursor::Prev() { impl_->it->Prev(); }
bool Cursor::Valid() const { return impl_->it->Valid(); }
std::string_view Cursor::key() const { return ToView(impl_->it->key()); }
std::string_view Cursor::value() const { return ToView(impl_->it->value()); }
absl::Status Cursor::status() const { return FromRocks(impl_->it->status()); }

}  // namespace fleetmark::collector
