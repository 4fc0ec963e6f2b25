#include "cli/output/exit_code.h"

namespace fleetmark::cli {

const std::vector<ExitStatus>& ExitStatuses() {
  static const auto* const kStatuses = new std::vector<ExitStatus>{
      {kExitOk, "ok"},
      {kExitProblem,
       "the command worked and found a problem: the run did not end ok, what was parsed is not ok, the "
       "plugin "
       "is wrong, the collector reports a problem of its own"},
      {kExitUsage, "the command line is wrong, or the collector says so of what it asks for"},
      {kExitUnreachable, "the collector can't be reached, went away, or does not answer"},
      {kExitNotFound, "there is no such node, series, run or folder"},
      {kExitRefused, "the collector or the node refused: not connected, busy, not permitted, already there"},
      {kExitInterrupted, "interrupted; a run that was started goes on"},
  };
  return *kStatuses;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnimplemented:
      return kExitRefused;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitProblem;
  }
}

}  // namespace fleetmark::cli
