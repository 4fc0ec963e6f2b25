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

// The runs' ULIDs, 16 bytes each. Their milliseconds are told from the rows' times; the rest is random.
inline constexpr size_t kRunIdBytes = 16;
std::string EncodeRunIds(absl::Span<const std::string_view> ids, absl::Span<const int64_t> times);
absl::Status DecodeRunIds(std::string_view column, absl::Span<const int64_t> times, std::string* ids);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_COLUMN_CODEC_H_
