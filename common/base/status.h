// Handling of absl::Status: macros, context, and the one place that says which errors are worth a retry.
//
// Codes, everywhere in this project:
//   InvalidArgument     the input is wrong; retrying is useless
//   FailedPrecondition  something else must be changed first (newer schema, plugin disabled)
//   NotFound, AlreadyExists
//   ResourceExhausted   full: slow down, come back later
//   Unavailable         come back later
//   DeadlineExceeded    took too long
//   Cancelled           we are stopping, or somebody asked
//   DataLoss            a checksum or a structure on disk is wrong
//   PermissionDenied
//   Internal            a bug
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_BASE_STATUS_H_
#define FLEETMARK_COMMON_BASE_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define FM_CONCAT_INNER_(a, b) a##b
#define FM_CONCAT_(a, b) FM_CONCAT_INNER_(a, b)

// Returns from the calling function when `expr`, an absl::Status, is not OK.
#define FM_RETURN_IF_ERROR(expr)                                                 \
  do {                                                                           \
    if (::absl::Status fm_status_ = (expr); !fm_status_.ok()) return fm_status_; \
  } while (false)

// FM_ASSIGN_OR_RETURN(auto x, F()): declares x from a StatusOr, or returns its error.
#define FM_ASSIGN_OR_RETURN(lhs, expr) \
  FM_ASSIGN_OR_RETURN_IMPL_(FM_CONCAT_(fm_statusor_, __LINE__), lhs, expr)
#define FM_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return std::move(tmp).status();  \
  lhs = *std::move(tmp)

namespace fleetmark {

// `status` with "`context`: " before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// The error of a failed system call, with errno's name: "open /x: Permission denied (EACCES)". The code
// is the canonical one for the errno.
absl::Status ErrnoStatus(int error_number, std::string_view what);

// May the same call succeed later without anybody changing anything?
bool IsRetryable(const absl::Status& status);

// absl::string_view is not std::string_view in Debian's build.
inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_STATUS_H_
