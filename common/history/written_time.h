// Times as other tools write them.
//
// Thread-safety: functions without state. Errors: InvalidArgument says what was written and what is read.
#ifndef FLEETMARK_COMMON_HISTORY_WRITTEN_TIME_H_
#define FLEETMARK_COMMON_HISTORY_WRITTEN_TIME_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

// Unix nanoseconds, to the millisecond, so that the same moment written in two ways is the same: of Unix
// seconds with or without a fraction; of RFC 3339; of "2026-03-04T10:11:12" or with a space, by `zone`; of
// "20260304T101112+0100"; of "2026-03-04_10-11-12", as SuperBench names its folders, by `zone`.
absl::StatusOr<int64_t> ReadWrittenTime(const std::string& text, absl::TimeZone zone);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HISTORY_WRITTEN_TIME_H_
