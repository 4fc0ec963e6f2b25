// Sequences of 64-bit integers as few bytes: predicted by nothing, by the number before, or by a straight
// line, and what remains packed to its range or coded as normal noise (normal_code.h), whichever is shorter.
// All arithmetic is modulo 2^64, so any numbers come back. docs/storage-format.md has the layout.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such sequence.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_INTEGER_CODEC_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_INTEGER_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fleetmark::collector {

void EncodeIntegers(absl::Span<const int64_t> numbers, std::string* out);

// Fills `numbers`, whose size the caller knows, and takes their bytes off the front of `in`.
absl::Status DecodeIntegers(std::string_view* in, absl::Span<int64_t> numbers);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_INTEGER_CODEC_H_
