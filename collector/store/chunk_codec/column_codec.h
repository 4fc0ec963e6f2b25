// One column of a chunk as bytes: a version, what it holds, how many, the numbers, and a checksum over all
// of it. A column may lack values for some of its chunk's rows.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such column or fail their
// checksum, FailedPrecondition for one of a newer version. Work and memory are bounded by kMaxRows.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_COLUMN_CODEC_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_COLUMN_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fleetmark::collector {

inline constexpr size_t kMaxRows = 4096;

// Times in nanoseconds, in any order; every row has one.
std::string EncodeTimes(absl::Span<const int64_t> times);
absl::Status DecodeTimes(std::string_view column, std::vector<int64_t>* times);

// Values of those of `rows` rows that `present` lists, ascending.
struct ValueColumn {
  size_t rows = 0;
  std::vector<uint32_t> present;  // empty: every row has one
  std::vector<double> values;
};
std::string EncodeValues(const ValueColumn& column);
absl::Status DecodeValues(std::string_view column, ValueColumn* out);

// Any bytes, each of the same length.
std::string EncodeFixed(absl::Span<const std::string_view> items, size_t bytes_each);
absl::Status DecodeFixed(std::string_view column, std::string* bytes, size_t bytes_each);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_COLUMN_CODEC_H_
