#include "tests/fakes/power_loss_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace fleetmark {
namespace {

constexpr size_t kSector = 512;

// One operation that no sync has made durable yet.
struct Operation {
  uint64_t number = 0;
  bool truncation = false;
  size_t offset = 0;  // of a truncation: the new size
  std::string data;
};

struct Inode {
  std::string durable;
  std::vector<Operation> pending;
};

// `name` refers to `inode` from this operation on; null: to nothing.
struct Naming {
  uint64_t number = 0;
  std::string name;
  std::shared_ptr<Inode> inode;
};

void Apply(const Operation& operation, std::string& content) {
  if (operation.truncation) {
    content.resize(operation.offset, '\0');
    return;
  }
  const size_t end = operation.offset + operation.data.size();
  if (content.size() < end) content.resize(end, '\0');
  content.replace(operation.offset, operation.data.size(), operation.data);
}

// What is on the medium when each sector has any of its versions, and the file any of its sizes. Those
// numbered below `certain` have happened, those above `last` have not.
std::string Shuffle(const Inode& inode, uint64_t certain, uint64_t last, std::mt19937_64& rng) {
  std::vector<std::string> versions = {inode.durable};
  for (const Operation& operation : inode.pending) {
    if (operation.number > last) break;
    std::string next = versions.back();
    Apply(operation, next);
    if (operation.number < certain) {
      versions.back() = std::move(next);
    } else {
      versions.push_back(std::move(next));
    }
  }
  const auto pick = [&]() -> const std::string& { return versions[rng() % versions.size()]; };
  const size_t size = pick().size();
  const char filler = rng() % 2 == 0 ? '\0' : static_cast<char>(rng());
  std::string content(size, filler);
  for (size_t at = 0; at < size; at += kSector) {
    const std::string& version = pick();
    if (at < version.size()) content.replace(at, std::min(kSector, size - at), version, at, kSector);
    content.resize(size, filler);
  }
  return content;
}

}  // namespace

struct PowerLossDisk::Impl {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  int operations = 0;
  int lose_at = 0;
  bool lost = false;
  uint64_t number = 0;
  std::map<std::string, std::shared_ptr<Inode>> names;          // as the running system sees them
  std::map<std::string, std::shared_ptr<Inode>> durable_names;  // as the medium has them
  std::vector<Naming> pending_names;

  // Counts an operation; false when there is no power for it.
  bool Begin() {
    if (lost) return false;
    ++operations;
    ++number;
    lost = operations == lose_at;
    return !lost;
  }
  void Name(const std::string& name, std::shared_ptr<Inode> inode) {
    if (inode == nullptr) {
      names.erase(name);
    } else {
      names[name] = inode;
    }
    pending_names.push_back({number, name, std::move(inode)});
  }
  static void Put(const Naming& naming, std::map<std::string, std::shared_ptr<Inode>>& into) {
    if (naming.inode == nullptr) {
      into.erase(naming.name);
    } else {
      into[naming.name] = naming.inode;
    }
  }
  void SyncFolder() {
    for (const Naming& naming : pending_names) Put(naming, durable_names);
    pending_names.clear();
  }
};

namespace {

PowerLossDisk::Impl* g_disk = nullptr;  // SQLite's callbacks carry no context of ours

// The real file lies behind this header in memory that SQLite allocated.
struct File {
  sqlite3_file base;
  std::shared_ptr<Inode>* inode;
  bool sync_folder;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
File* Ours(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* Real(sqlite3_file* file) { return Ours(file)->real(); }

int Close(sqlite3_file* file) {
  delete Ours(file)->inode;
  return Real(file)->pMethods->xClose(Real(file));
}
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return Real(file)->pMethods->xRead(Real(file), data, size, offset);
}
int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  // The write during which power is lost may have been done in part.
  const bool on = !g_disk->lost;
  const bool fine = g_disk->Begin();
  if (on) {
    (*Ours(file)->inode)
        ->pending.push_back({g_disk->number, false, static_cast<size_t>(offset),
                             std::string(static_cast<const char*>(data), static_cast<size_t>(size))});
  }
  return fine ? Real(file)->pMethods->xWrite(Real(file), data, size, offset) : SQLITE_IOERR_WRITE;
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (!g_disk->Begin()) return SQLITE_IOERR_TRUNCATE;
  (*Ours(file)->inode)->pending.push_back({g_disk->number, true, static_cast<size_t>(size), ""});
  return Real(file)->pMethods->xTruncate(Real(file), size);
}
int Sync(sqlite3_file* file, int) {
  if (!g_disk->Begin()) return SQLITE_IOERR_FSYNC;
  Inode& inode = **Ours(file)->inode;
  for (const Operation& operation : inode.pending) Apply(operation, inode.durable);
  inode.pending.clear();
  if (std::exchange(Ours(file)->sync_folder, false)) g_disk->SyncFolder();
  return SQLITE_OK;  // the real disk need not sync
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int level) { return Real(file)->pMethods->xLock(Real(file), level); }
int Unlock(sqlite3_file* file, int level) { return Real(file)->pMethods->xUnlock(Real(file), level); }
int CheckReservedLock(sqlite3_file* file, int* out) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), out);
}
int FileControl(sqlite3_file* file, int op, void* arg) {
  return Real(file)->pMethods->xFileControl(Real(file), op, arg);
}
int SectorSize(sqlite3_file*) { return static_cast<int>(kSector); }
int DeviceCharacteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

// Version 1 has no shared memory: what is locked exclusively needs none.
const sqlite3_io_methods kMethods = {1,
                                     Close,
                                     Read,
                                     Write,
                                     Truncate,
                                     Sync,
                                     FileSize,
                                     Lock,
                                     Unlock,
                                     CheckReservedLock,
                                     FileControl,
                                     SectorSize,
                                     DeviceCharacteristics};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  const bool is_new = name != nullptr && !std::filesystem::exists(name);
  if (is_new && (flags & SQLITE_OPEN_CREATE) != 0 && !g_disk->Begin()) return SQLITE_CANTOPEN;
  const int code = g_disk->real->xOpen(g_disk->real, name, Real(file), flags, out_flags);
  if (code != SQLITE_OK) return code;
  std::shared_ptr<Inode> inode;
  if (name == nullptr) {
    inode = std::make_shared<Inode>();
  } else if (const auto known = g_disk->names.find(name); known != g_disk->names.end()) {
    inode = known->second;
  } else {
    inode = std::make_shared<Inode>();
    if (is_new) {
      g_disk->Name(name, inode);
    } else {  // it was there before this machine started
      std::ifstream in(name, std::ios::binary);
      inode->durable.assign(std::istreambuf_iterator<char>(in), {});
      g_disk->names[name] = g_disk->durable_names[name] = inode;
    }
  }
  Ours(file)->inode = new std::shared_ptr<Inode>(std::move(inode));
  constexpr int kJournals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
  Ours(file)->sync_folder = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kJournals) != 0;
  file->pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  if (!std::filesystem::exists(name)) return SQLITE_IOERR_DELETE_NOENT;
  if (!g_disk->Begin()) return SQLITE_IOERR_DELETE;
  g_disk->Name(name, nullptr);
  if (sync_folder != 0) g_disk->SyncFolder();
  return g_disk->real->xDelete(g_disk->real, name, 0);
}

}  // namespace

PowerLossDisk::PowerLossDisk() : impl_(std::make_unique<Impl>()) {
  if (g_disk != nullptr) std::abort();
  g_disk = impl_.get();
  impl_->real = sqlite3_vfs_find(nullptr);
  impl_->vfs = *impl_->real;
  impl_->vfs.zName = "power-loss";
  impl_->vfs.szOsFile = static_cast<int>(sizeof(File)) + impl_->real->szOsFile;
  impl_->vfs.xOpen = Open;
  impl_->vfs.xDelete = Delete;
  sqlite3_vfs_register(&impl_->vfs, 1);
}

PowerLossDisk::~PowerLossDisk() {
  sqlite3_vfs_unregister(&impl_->vfs);
  sqlite3_vfs_register(impl_->real, 1);
  g_disk = nullptr;
}

void PowerLossDisk::LosePowerAt(int n) {
  impl_->lose_at = n;
  impl_->operations = 0;
  impl_->lost = false;
}

bool PowerLossDisk::power_lost() const { return impl_->lost; }
int PowerLossDisk::operations() const { return impl_->operations; }

void PowerLossDisk::Reset() {
  impl_->names.clear();
  impl_->durable_names.clear();
  impl_->pending_names.clear();
  LosePowerAt(0);
}

void PowerLossDisk::WriteWhatIsLeft(const std::string& folder, Survivors survivors, uint64_t seed) const {
  std::mt19937_64 rng(seed);
  uint64_t certain = survivors == Survivors::kAll ? impl_->number + 1 : 0;
  uint64_t last = survivors == Survivors::kNone ? 0 : impl_->number;
  if (survivors == Survivors::kPrefix) {
    // Somewhere among the last operations, where most of those that are not synced stand.
    last = impl_->number - rng() % std::min<uint64_t>(impl_->number, 40);
    certain = last;
  }
  auto names = impl_->durable_names;
  for (const Naming& naming : impl_->pending_names) {
    if (naming.number > last) break;
    if (naming.number < certain || rng() % 2 == 0) Impl::Put(naming, names);
  }
  for (const auto& [name, inode] : names) {
    const auto path = std::filesystem::path(folder) / std::filesystem::path(name).filename();
    std::ofstream(path, std::ios::binary) << Shuffle(*inode, certain, last, rng);
  }
}

}  // namespace fleetmark
