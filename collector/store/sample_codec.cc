#include "collector/store/sample_codec.h"

#include <bit>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"

#include "collector/store/keys.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion = 1;

}  // namespace

std::string EncodeSampleValue(double value, double relative_spread) {
  std::string out(1, kVersion);
  AppendU64(&out, std::bit_cast<uint64_t>(value));
  if (relative_spread != 0) AppendU64(&out, std::bit_cast<uint64_t>(relative_spread));
  return out;
}

absl::StatusOr<v1::Sample> DecodeSample(std::string_view key, std::string_view value) {
  const std::optional<SampleKey> parsed = ParseSampleKey(key);
  if (!parsed.has_value()) return absl::DataLossError("a stored sample's key is malformed");
  if (!value.empty() && value[0] > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a stored sample has version ", static_cast<int>(value[0])));
  }
  if ((value.size() != 9 && value.size() != 17) || value[0] != kVersion) {
    return absl::DataLossError("a stored sample's value is malformed");
  }
  v1::Sample sample;
  sample.set_time_unix_ns(parsed->time_unix_ns);
  sample.set_run_id(UlidToText(parsed->run));
  sample.set_value(std::bit_cast<double>(ReadU64(value.substr(1))));
  if (value.size() == 17) sample.set_relative_spread(std::bit_cast<double>(ReadU64(value.substr(9))));
  return sample;
}

}  // namespace fleetmark::collector
