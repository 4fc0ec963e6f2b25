// A disk for SQLite that fails from the n-th write, sync or truncation on. It stands before the default
// file system of SQLite for as long as it lives.
//
// Thread-safety: none; one at a time in a process.
#ifndef FLEETMARK_TESTS_FAKES_FAULTY_SQLITE_VFS_H_
#define FLEETMARK_TESTS_FAKES_FAULTY_SQLITE_VFS_H_

#include <memory>

namespace fleetmark {

class FaultySqliteVfs {
 public:
  FaultySqliteVfs();
  ~FaultySqliteVfs();
  FaultySqliteVfs(const FaultySqliteVfs&) = delete;
  FaultySqliteVfs& operator=(const FaultySqliteVfs&) = delete;

  // The n-th operation from now (from 1) and all later ones fail with this SQLite code.
  void FailFrom(int n, int code);
  void Heal();

  // How many operations failed since FailFrom.
  int faults() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_TESTS_FAKES_FAULTY_SQLITE_VFS_H_
