// Parameters of a URL, as the HTTP interface takes them from anybody: "name=value" lines.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/query/query_params.h"
#include "fleetmark/v1/fleet.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fleetmark::collector::FillRequest;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fleetmark::collector::QueryParams params;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(begin, end - begin);
    const size_t equals = line.find('=');
    params.emplace(line.substr(0, equals), equals == std::string::npos ? "" : line.substr(equals + 1));
    begin = end + 1;
  }
  const absl::Time now = absl::FromUnixSeconds(1'790'000'000);
  fleetmark::v1::ListFindingsRequest findings;
  FillRequest(params, now, {}, &findings).IgnoreError();
  // What was taken must be valid on the wire: proto3 strings are UTF-8.
  fleetmark::v1::ListFindingsRequest again;
  if (!again.ParseFromString(findings.SerializeAsString())) __builtin_trap();
  fleetmark::v1::ReadSamplesRequest samples;
  FillRequest(params, now, {"series_id"}, &samples).IgnoreError();
  if (samples.series_id() != 0 || samples.range().from_unix_ns() < 0) __builtin_trap();
  return 0;
}
