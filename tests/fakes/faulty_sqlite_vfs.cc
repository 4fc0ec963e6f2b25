#include "tests/fakes/faulty_sqlite_vfs.h"

#include <sqlite3.h>

#include <cstdlib>

namespace fleetmark {

struct FaultySqliteVfs::Impl {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  int until_fault = -1;  // -1: never
  int code = SQLITE_OK;
  int faults = 0;

  bool Fails() {
    if (until_fault < 0) return false;
    if (until_fault > 1) {
      --until_fault;
      return false;
    }
    ++faults;
    return true;
  }
};

namespace {

FaultySqliteVfs::Impl* g_disk = nullptr;  // SQLite's callbacks carry no context of ours

// The real file lies behind this header in memory that SQLite allocated.
struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* Real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (g_disk->Fails()) return g_disk->code;
  return Real(file)->pMethods->xWrite(Real(file), data, size, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (g_disk->Fails()) return g_disk->code;
  return Real(file)->pMethods->xTruncate(Real(file), size);
}
int Sync(sqlite3_file* file, int flags) {
  if (g_disk->Fails()) return g_disk->code == SQLITE_FULL ? SQLITE_OK : g_disk->code;
  return Real(file)->pMethods->xSync(Real(file), flags);
}
int Close(sqlite3_file* file) { return Real(file)->pMethods->xClose(Real(file)); }
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return Real(file)->pMethods->xRead(Real(file), data, size, offset);
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
int SectorSize(sqlite3_file* file) { return Real(file)->pMethods->xSectorSize(Real(file)); }
int DeviceCharacteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}

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
  const int code = g_disk->real->xOpen(g_disk->real, name, Real(file), flags, out_flags);
  file->pMethods = Real(file)->pMethods == nullptr ? nullptr : &kMethods;
  return code;
}

}  // namespace

FaultySqliteVfs::FaultySqliteVfs() : impl_(std::make_unique<Impl>()) {
  if (g_disk != nullptr) std::abort();
  g_disk = impl_.get();
  impl_->real = sqlite3_vfs_find(nullptr);
  impl_->vfs = *impl_->real;
  impl_->vfs.zName = "faulty";
  impl_->vfs.szOsFile = static_cast<int>(sizeof(File)) + impl_->real->szOsFile;
  impl_->vfs.xOpen = Open;
  sqlite3_vfs_register(&impl_->vfs, 1);
}

FaultySqliteVfs::~FaultySqliteVfs() {
  sqlite3_vfs_unregister(&impl_->vfs);
  sqlite3_vfs_register(impl_->real, 1);
  g_disk = nullptr;
}

void FaultySqliteVfs::FailFrom(int n, int code) {
  impl_->until_fault = n;
  impl_->code = code;
  impl_->faults = 0;
}

void FaultySqliteVfs::Heal() { impl_->until_fault = -1; }

int FaultySqliteVfs::faults() const { return impl_->faults; }

}  // namespace fleetmark
