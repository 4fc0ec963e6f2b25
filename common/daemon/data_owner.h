// Commands that root gives on a daemon's data: they act as the user whose data it is, so that the daemon can
// read what they make.
//
// Thread-safety: called from main alone. Errors: those of the system calls.
#ifndef FLEETMARK_COMMON_DAEMON_DATA_OWNER_H_
#define FLEETMARK_COMMON_DAEMON_DATA_OWNER_H_

#include <string>

#include "absl/status/status.h"

namespace fleetmark {

// Does nothing unless the process is root's and `data_dir` is there and another user's.
absl::Status BecomeOwner(const std::string& data_dir);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_DAEMON_DATA_OWNER_H_
