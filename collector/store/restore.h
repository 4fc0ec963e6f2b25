// Puts a backup in the place of the store, while no collector runs.
//
// An interrupted restore leaves a mark in the store's folder. Until it is run again to its end, no program
// opens the store; what was there before is lost at no point.
//
// Thread-safety: none; for one process that has the folder for itself. Blocks for as long as reading and
// copying the backup takes.
// Errors: FailedPrecondition (the store's folder is not empty and is not to be moved aside, or a process has
// it open, or the backup's format is another), NotFound (there is no backup), DataLoss (the backup is
// damaged; nothing was changed), ResourceExhausted, Unavailable.
#ifndef FLEETMARK_COLLECTOR_STORE_RESTORE_H_
#define FLEETMARK_COLLECTOR_STORE_RESTORE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "collector/store/integrity.h"

namespace fleetmark::collector {

struct RestoreOptions {
  std::string backup;  // the folder of one backup
  std::string folder;  // the store's
  // What is in the store's folder is moved to `before_restore_TIME` in it instead of being a reason to
  // refuse.
  bool move_aside = false;
  std::string time_name;  // TIME
};

struct RestoreReport {
  IntegrityReport checked;  // of the backup
  std::string moved_aside;  // the folder; empty: nothing had to be moved
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Checks the backup, copies it beside what is there, then moves that aside and the copy in its place. On
// DataLoss the report's problems are in `*problems`.
absl::StatusOr<RestoreReport> RestoreStore(const RestoreOptions& options, IntegrityReport* problems);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_RESTORE_H_
