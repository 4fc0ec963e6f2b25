#include "collector/store/chunk_codec/checksum.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace fleetmark::collector {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82F63B78;

using Table = std::array<std::array<uint32_t, 256>, 8>;

// Row k moves a byte past k further bytes, so that eight are taken at once ("slicing by eight", Kounavis and
// Berry, 2005).
constexpr Table MakeTable() {
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[0][byte] = crc;
  }
  for (size_t k = 1; k < table.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = table[k - 1][byte];
      table[k][byte] = crc >> 8 ^ table[0][crc & 0xFF];
    }
  }
  return table;
}

constexpr Table kTable = MakeTable();

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint32_t crc = 0xFFFFFFFF;
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTable[7 - i][word >> (8 * i) & 0xFF];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace fleetmark::collector
