#include "tests/fakes/faulty_file_system.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace fleetmark {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::string FolderOf(const std::string& name) { return fs::path(name).parent_path().lexically_normal(); }

class WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name, FaultyFileSystem* fs)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), fs_(*fs) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = fs_.BeforeWrite("append", name_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) fs_.Appended(name_, data.size());
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = fs_.BeforeWrite("sync", name_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Sync(options, debug);
    if (status.ok()) fs_.Synced(name_);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = fs_.BeforeWrite("close", name_);
    const IOStatus closed = FSWritableFileOwnerWrapper::Close(options, debug);
    return status.ok() ? closed : status;
  }

 private:
  const std::string name_;
  FaultyFileSystem& fs_;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  RandomAccessFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string name, FaultyFileSystem* fs)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), name_(std::move(name)), fs_(*fs) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const IOStatus status = FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
    return status.ok() ? fs_.AfterRead(name_, result, scratch) : status;
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& one = requests[i];
      one.status = Read(one.offset, one.len, options, &one.result, one.scratch, debug);
    }
    return IOStatus::OK();
  }

 private:
  const std::string name_;
  FaultyFileSystem& fs_;
};

class SequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  SequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file, std::string name, FaultyFileSystem* fs)
      : FSSequentialFileOwnerWrapper(std::move(file)), name_(std::move(name)), fs_(*fs) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    const IOStatus status = FSSequentialFileOwnerWrapper::Read(n, options, result, scratch, debug);
    return status.ok() ? fs_.AfterRead(name_, result, scratch) : status;
  }

 private:
  const std::string name_;
  FaultyFileSystem& fs_;
};

class Folder final : public rocksdb::FSDirectoryWrapper {
 public:
  Folder(std::unique_ptr<rocksdb::FSDirectory> folder, std::string name, FaultyFileSystem* fs)
      : FSDirectoryWrapper(std::move(folder)), name_(std::move(name)), fs_(*fs) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return FsyncWithDirOptions(options, debug, {});
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& which) override {
    IOStatus status = fs_.BeforeWrite("sync of folder", name_);
    if (status.ok()) status = FSDirectoryWrapper::FsyncWithDirOptions(options, debug, which);
    if (status.ok()) fs_.FolderSynced(name_);
    return status;
  }

 private:
  const std::string name_;
  FaultyFileSystem& fs_;
};

std::string Content(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace

FaultyFileSystem::FaultyFileSystem(DiskFault fault, uint64_t at, uint64_t seed)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), fault_(fault), at_(at), dice_(seed) {}

uint64_t FaultyFileSystem::writes() const {
  MutexLock lock(mu_);
  return writes_;
}

uint64_t FaultyFileSystem::reads() const {
  MutexLock lock(mu_);
  return reads_;
}

bool FaultyFileSystem::happened() const {
  MutexLock lock(mu_);
  return happened_;
}

IOStatus FaultyFileSystem::BeforeWrite(const char* what, const std::string& name) {
  MutexLock lock(mu_);
  ++writes_;
  if (fault_ == DiskFault::kPowerCut && writes_ == at_) CutPower();
  const bool fails = (fault_ == DiskFault::kWriteOnce && writes_ == at_) ||
                     (fault_ == DiskFault::kWritesFrom && writes_ >= at_);
  if (!fails) return IOStatus::OK();
  happened_ = true;
  return IOStatus::IOError("injected: " + std::string(what), name);
}

IOStatus FaultyFileSystem::AfterRead(const std::string& name, Slice* read, char* scratch) {
  MutexLock lock(mu_);
  ++reads_;
  if (fault_ == DiskFault::kFlipOnce && reads_ >= at_ && !happened_ && read->size() > 0) {
    happened_ = true;
    std::string bytes = read->ToString();
    const uint64_t bit = dice_() % (8 * bytes.size());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    bytes.copy(scratch, bytes.size());
    *read = Slice(scratch, bytes.size());
  }
  const bool fails =
      (fault_ == DiskFault::kReadOnce && reads_ == at_) || (fault_ == DiskFault::kReadsFrom && reads_ >= at_);
  if (!fails) return IOStatus::OK();
  happened_ = true;
  return IOStatus::IOError("injected: read", name);
}

void FaultyFileSystem::Appended(const std::string& name, uint64_t bytes) {
  MutexLock lock(mu_);
  lengths_[name].written += bytes;
}

void FaultyFileSystem::Synced(const std::string& name) {
  MutexLock lock(mu_);
  lengths_[name].synced = lengths_[name].written;
}

void FaultyFileSystem::FolderSynced(const std::string& folder) {
  MutexLock lock(mu_);
  const std::string path = (fs::path(folder) / "").parent_path().lexically_normal();
  std::erase_if(created_, [&path](const std::string& name) { return FolderOf(name) == path; });
  std::erase_if(renames_, [&path](const Rename& one) { return FolderOf(one.to) == path; });
}

void FaultyFileSystem::Track(const std::string& name, uint64_t bytes) {
  MutexLock lock(mu_);
  lengths_[name] = {bytes, bytes};
  if (bytes == 0) created_.insert(name);
}

// Every thread that wants to write waits for the lock meanwhile, and for ever.
void FaultyFileSystem::CutPower() {
  for (const auto& [name, length] : lengths_) {
    const uint64_t tail = length.written - length.synced;
    // Lost, kept, or torn.
    const uint64_t kept = tail == 0 || dice_() % 3 == 0 ? 0 : (dice_() % 2 == 0 ? tail : dice_() % tail);
    std::error_code gone;
    if (fs::exists(name, gone)) fs::resize_file(name, length.synced + kept, gone);
  }
  if (dice_() % 2 == 0) {
    for (auto it = renames_.rbegin(); it != renames_.rend(); ++it) {
      std::error_code gone;
      fs::rename(it->to, it->from, gone);
      if (it->replaced.has_value()) std::ofstream(it->to, std::ios::binary) << *it->replaced;
    }
  }
  for (const std::string& name : created_) {
    std::error_code gone;
    if (dice_() % 2 == 0) fs::remove(name, gone);
  }
  _exit(kPowerCutExit);
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                                           IODebugContext* debug) {
  IOStatus status = BeforeWrite("create", name);
  std::unique_ptr<rocksdb::FSWritableFile> made;
  if (status.ok()) status = target()->NewWritableFile(name, options, &made, debug);
  if (!status.ok()) return status;
  Track(name, 0);
  *file = std::make_unique<WritableFile>(std::move(made), name, this);
  return status;
}

IOStatus FaultyFileSystem::ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                                              IODebugContext* debug) {
  IOStatus status = BeforeWrite("reopen", name);
  std::unique_ptr<rocksdb::FSWritableFile> made;
  if (status.ok()) status = target()->ReopenWritableFile(name, options, &made, debug);
  if (!status.ok()) return status;
  std::error_code error;
  Track(name, fs::file_size(name, error));
  *file = std::make_unique<WritableFile>(std::move(made), name, this);
  return status;
}

IOStatus FaultyFileSystem::NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                               IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> made;
  const IOStatus status = target()->NewRandomAccessFile(name, options, &made, debug);
  if (status.ok()) *file = std::make_unique<RandomAccessFile>(std::move(made), name, this);
  return status;
}

IOStatus FaultyFileSystem::NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                             IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSSequentialFile> made;
  const IOStatus status = target()->NewSequentialFile(name, options, &made, debug);
  if (status.ok()) *file = std::make_unique<SequentialFile>(std::move(made), name, this);
  return status;
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* folder,
                                        IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> made;
  const IOStatus status = target()->NewDirectory(name, options, &made, debug);
  if (status.ok()) *folder = std::make_unique<Folder>(std::move(made), name, this);
  return status;
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  IOStatus status = BeforeWrite("rename", from);
  if (!status.ok()) return status;
  Rename rename{from, to, std::nullopt};
  std::error_code error;
  if (fs::exists(to, error)) rename.replaced = Content(to);
  status = target()->RenameFile(from, to, options, debug);
  if (!status.ok()) return status;
  MutexLock lock(mu_);
  if (const auto it = lengths_.find(from); it != lengths_.end()) {
    lengths_[to] = it->second;
    lengths_.erase(from);
  }
  created_.erase(from);
  if (!rename.replaced.has_value()) created_.insert(to);
  renames_.push_back(std::move(rename));
  return status;
}

}  // namespace fleetmark
