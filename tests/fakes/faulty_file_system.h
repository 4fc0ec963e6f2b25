// A file system below RocksDB that fails at a chosen operation: a write or sync that returns an error, once
// or from then on; a read that returns an error, or bytes with one bit flipped; a power cut, which ends the
// process with what was not synced lost, kept or torn.
//
// Operations are counted over all files: writes (create, append, sync, close, rename, folder sync) and reads
// apart.
//
// Thread-safety: all methods, any thread. Ownership: shared, as RocksDB keeps it.
#ifndef FLEETMARK_TESTS_FAKES_FAULTY_FILE_SYSTEM_H_
#define FLEETMARK_TESTS_FAKES_FAULTY_FILE_SYSTEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

#include "common/base/mutex.h"

namespace fleetmark {

enum class DiskFault { kNone, kWriteOnce, kWritesFrom, kReadOnce, kReadsFrom, kFlipOnce, kPowerCut };
inline constexpr int kPowerCutExit = 42;

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // The fault comes at the `at`-th operation of its kind, from 1.
  FaultyFileSystem(DiskFault fault, uint64_t at, uint64_t seed);

  const char* Name() const override { return "FaultyFileSystem"; }

  uint64_t writes() const;
  uint64_t reads() const;
  bool happened() const;  // the fault

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* folder,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;

  // What the files call.
  rocksdb::IOStatus BeforeWrite(const char* what, const std::string& name);
  // May flip a bit of what was read.
  rocksdb::IOStatus AfterRead(const std::string& name, rocksdb::Slice* read, char* scratch);
  void Appended(const std::string& name, uint64_t bytes);
  void Synced(const std::string& name);
  void FolderSynced(const std::string& folder);

 private:
  struct Length {
    uint64_t written = 0;
    uint64_t synced = 0;
  };
  struct Rename {
    std::string from, to;
    std::optional<std::string> replaced;  // what `to` held
  };

  void Track(const std::string& name, uint64_t bytes);
  [[noreturn]] void CutPower() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const DiskFault fault_;
  const uint64_t at_;
  mutable Mutex mu_;
  std::mt19937_64 dice_ ABSL_GUARDED_BY(mu_);
  uint64_t writes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  bool happened_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, Length> lengths_ ABSL_GUARDED_BY(mu_);
  // Since their folders were synced.
  std::set<std::string> created_ ABSL_GUARDED_BY(mu_);
  std::vector<Rename> renames_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark

#endif  // FLEETMARK_TESTS_FAKES_FAULTY_FILE_SYSTEM_H_
