// Sequences of doubles as few bytes, every bit kept. Benchmarks print short decimals: where i / 10^e is
// the very double (as in ALP: Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression",
// SIGMOD 2023), the integers i are coded and the few others stand as exceptions. Otherwise the doubles' bits
// are coded as integers in the doubles' order, or by XOR with the one before (Pelkonen et al., "Gorilla",
// VLDB 2015), whichever is shorter.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such sequence.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_REAL_CODEC_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_REAL_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fleetmark::collector {

void EncodeReals(absl::Span<const double> reals, std::string* out);

// Fills `reals`, whose size the caller knows, and takes their bytes off the front of `in`.
absl::Status DecodeReals(std::string_view* in, absl::Span<double> reals);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_REAL_CODEC_H_
