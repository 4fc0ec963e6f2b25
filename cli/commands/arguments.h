// Arguments that several commands share, from text to what a request wants.
//
// Thread-safety: functions without state. Errors: InvalidArgument that names the flag.
#ifndef FLEETMARK_CLI_COMMANDS_ARGUMENTS_H_
#define FLEETMARK_CLI_COMMANDS_ARGUMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

// "key=value" each.
absl::StatusOr<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& arguments);

// A series' number as `fleetmark series` shows it.
absl::StatusOr<uint64_t> ParseSeriesId(const std::string& text);

// `since` before `now` until now; everything when it is empty.
absl::StatusOr<v1::TimeRange> RangeSince(const std::string& since, absl::Time now);

// "ok", "failed", …; unspecified when empty.
absl::StatusOr<v1::Outcome> ParseOutcome(const std::string& text);

// Who asks, as `user@host`, for the collector's records.
std::string AskedBy();

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_ARGUMENTS_H_
