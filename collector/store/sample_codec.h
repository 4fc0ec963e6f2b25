// How samples lie in the samples column family: one value a sample now. This file and samples.cc are all
// that knows it.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such value,
// FailedPrecondition for one of a newer version.
#ifndef FLEETMARK_COLLECTOR_STORE_SAMPLE_CODEC_H_
#define FLEETMARK_COLLECTOR_STORE_SAMPLE_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

std::string EncodeSampleValue(double value, double relative_spread);

// The sample that key and value make.
absl::StatusOr<v1::Sample> DecodeSample(std::string_view key, std::string_view value);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SAMPLE_CODEC_H_
