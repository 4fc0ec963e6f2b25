// Copies a store's folder, file by file: for backups, and for taking one back.
//
// Thread-safety: functions without state; they block for as long as copying takes.
// Errors: AlreadyExists (the target is there), ResourceExhausted (the disk is full), Cancelled, NotFound,
// Unavailable.
#ifndef FLEETMARK_COLLECTOR_STORE_FOLDER_COPY_H_
#define FLEETMARK_COLLECTOR_STORE_FOLDER_COPY_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace fleetmark::collector {

struct CopiedFolder {
  uint64_t files = 0;
  uint64_t linked = 0;  // of those
  uint64_t bytes = 0;   // of all
};

// A new folder `to` with the files of `from`, synced; folders in it are left out. Table files, which are
// never changed, are linked where the file system can; all others are copied. After an error nothing of `to`
// is left. `go_on` is asked once a MiB; Cancelled once it says no.
absl::StatusOr<CopiedFolder> CopyStoreFolder(const std::string& from, const std::string& to,
                                             absl::FunctionRef<bool()> go_on);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_FOLDER_COPY_H_
