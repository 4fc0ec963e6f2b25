// Durations and sizes as people write them in configuration, parameters and flags.
//
// Thread-safety: functions without state. Errors: InvalidArgument with the text and an example.
#ifndef FLEETMARK_COMMON_CONFIG_QUANTITIES_H_
#define FLEETMARK_COMMON_CONFIG_QUANTITIES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

// "90s", "1h30m", "250ms", "2d". Units: ms, s, m, h, d. Not negative.
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

// "512", "64KiB", "1.5GiB", "10MB", in bytes. Not negative.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);

// The shortest of the above that is exact: "1h30m", "64KiB".
std::string DurationText(absl::Duration duration);
std::string BytesText(int64_t bytes);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_CONFIG_QUANTITIES_H_
