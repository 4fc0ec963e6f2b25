// Any bytes read as a chunk's column are refused, or are numbers that come back from their own encoding. The
// checksum is made right first: else nearly all input would end there.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "collector/store/chunk_codec/checksum.h"
#include "collector/store/chunk_codec/column_codec.h"

namespace fleetmark::collector {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint64_t>(a[i]) != std::bit_cast<uint64_t>(b[i])) return false;
  }
  return true;
}

void ReadColumn(const std::string& column) {
  ValueColumn values;
  if (DecodeValues(column, &values).ok()) {
    ValueColumn again;
    Require(DecodeValues(EncodeValues(values), &again).ok());
    Require(SameBits(values.values, again.values) && values.present == again.present);
  }
  std::vector<int64_t> times;
  if (DecodeTimes(column, &times).ok()) {
    std::vector<int64_t> again;
    Require(DecodeTimes(EncodeTimes(times), &again).ok() && again == times);
  }
  std::string ids;
  for (const size_t rows : {size_t{1}, size_t{2}, times.size()}) {
    (void)DecodeRunIds(column, std::vector<int64_t>(rows, 1'790'000'000'000'000'000), &ids).ok();
  }
}

}  // namespace
}  // namespace fleetmark::collector

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string column(reinterpret_cast<const char*>(data), size);
  fleetmark::collector::ReadColumn(column);
  const uint32_t crc = fleetmark::collector::Crc32c(column);
  for (unsigned i = 0; i < 4; ++i) column.push_back(static_cast<char>(crc >> (8 * i)));
  fleetmark::collector::ReadColumn(column);
  return 0;
}
