// Any bytes read as keys and values of the store are refused or mean something that encodes to them again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/stubs/logging.h"

#include "collector/store/group_values.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"

namespace fleetmark::collector {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadKeys(std::string_view bytes) {
  if (const auto key = ParseRowKey(bytes)) Require(EncodeRowKey(*key) == bytes);
  if (const auto key = ParseChunkKey(bytes)) Require(EncodeChunkKey(*key) == bytes);
  if (const auto key = ParseDayKey(bytes)) Require(EncodeDayKey(*key) == bytes);
  if (const auto key = ParseTierKey(bytes)) Require(EncodeTierKey(*key) == bytes);
  if (const auto key = ParseTimeKey(bytes)) Require(EncodeTimeKey(*key) == bytes);
  if (const auto id = ParseSeriesIdKey(bytes)) Require(SeriesIdKey(*id) == bytes);
  if (const auto ulid = UlidFromText(bytes)) Require(UlidToText(*ulid) == bytes);
  const std::string end = PrefixEnd(std::string(bytes));
  Require(end.empty() || end > bytes);
}

void ReadValues(std::string_view bytes) {
  if (const auto stats = DecodeGroupStats(bytes); stats.ok()) {
    Require(DecodeGroupStats(EncodeGroupStats(*stats)).ok());
  }
  if (const auto group = DecodeGroup(bytes); group.ok()) Require(DecodeGroup(EncodeGroup(*group)).ok());
  std::vector<RowCell> cells;
  if (DecodeRow(bytes, &cells).ok()) Require(DecodeRow(EncodeRow(cells), &cells).ok());
  if (const auto place = DecodeRunPlace(bytes); place.ok()) Require(EncodeRunPlace(*place) == bytes);
  if (const auto summary = DecodeRunSummary(bytes); summary.ok())
    Require(EncodeRunSummary(*summary) == bytes);
  if (const auto counters = DecodeCounters(bytes); counters.ok()) {
    Require(*DecodeCounters(EncodeCounters(*counters)) == *counters);
  }
  if (const auto text = DecodeBytes(bytes); text.ok()) Require(EncodeBytes(*text) == bytes);
  const google::protobuf::LogSilencer quiet;
  v1::Run run;
  (void)DecodeMessage(bytes, &run).ok();
  bool metrics_apart = false;
  (void)DecodeRun(bytes, &run, &metrics_apart).ok();
}

}  // namespace
}  // namespace fleetmark::collector

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fleetmark::collector::ReadKeys(bytes);
  fleetmark::collector::ReadValues(bytes);
  return 0;
}
