#include "common/base/status.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(ToAbsl(context), ": ", status.message()));
}

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  const char* name = strerrorname_np(error_number);
  return absl::Status(absl::ErrnoToStatusCode(error_number),
                      absl::StrCat(ToAbsl(what), ": ", strerrordesc_np(error_number), " (",
                                   name == nullptr ? "unknown" : name, ")"));
}

bool IsRetryable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return true;
    default:
      return false;
  }
}

}  // namespace fleetmark
