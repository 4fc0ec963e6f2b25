// Reads a series from the text of a file that people have: CSV or JSON.
//
//   CSV   `value`, or `time,value` with time as a number or RFC 3339; a header line may name the columns, and
//         then a file with more columns is read too, if one of them is `value`. An empty value is missing.
//   JSON  a list of numbers and nulls; of [time, value]; of {"time": …, "value": …}; or an object that holds
//         one of these under "series" or "values".
//
// Thread-safety: functions without state. Errors: InvalidArgument that names the line or item; also for a
// file without values and for one beyond the bounds.
#ifndef FLEETMARK_CLI_COMMANDS_SERIES_FILE_H_
#define FLEETMARK_CLI_COMMANDS_SERIES_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::cli {

inline constexpr size_t kMaxSeriesFileBytes = 64 << 20;
inline constexpr size_t kMaxSeriesFileSamples = 1'000'000;

struct FileSeries {
  std::vector<double> values;      // those that are there, in time order
  std::vector<size_t> indices;     // of each among all samples in time order, from 0
  std::vector<std::string> times;  // of each as written; empty without times
};

absl::StatusOr<FileSeries> ParseSeriesFile(std::string_view text);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_SERIES_FILE_H_
