// The spool's file as a whole: whether it can be used, and setting a damaged one aside.
//
// Thread-safety: none; the spool's owner locks. All functions block on the disk.
#ifndef FLEETMARK_AGENT_SPOOL_SPOOL_FILE_H_
#define FLEETMARK_AGENT_SPOOL_SPOOL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::agent {

// Makes the folder. PermissionDenied and so on when it, or a file that is there, can't be read and written.
absl::Status PrepareFolder(const std::string& folder, const std::string& file);

// DataLoss when the database at `path` is empty and its write-ahead log is not.
absl::Status CheckNotEmptied(const std::string& path);

// Moves the database at `path`, which is not open, with its log to PATH.corrupt-TIME, durably, in place of
// any that was set aside before. Returns the new path. Unavailable and so on when that fails; `path` is then
// as it was, or gone and its log still to be moved.
absl::StatusOr<std::string> SetAside(const std::string& path, absl::Time now);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SPOOL_SPOOL_FILE_H_
