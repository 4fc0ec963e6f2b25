#include "collector/store/chunk_codec/normal_code.h"

namespace fleetmark::collector {
namespace {

// Standard deviations, half an octave apart, so that the right one is at most a quarter octave off.
constexpr std::array<double, NormalCode::kCodes> kDeviations = {0.25, 0.35, 0.5, 0.71, 1.0, 1.41, 2.0, 2.83};

// Lengths of Huffman codes for the probabilities of the steps -12 … 12 under each, and for the escape; no
// symbol is taken to be rarer than 1 in 2600. They are part of the format on disk and never change.
constexpr std::array<std::array<uint8_t, NormalCode::kSymbols>, NormalCode::kCodes> kLengths = {{
    {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2, 1, 3, 8, 8, 8, 7, 7, 7, 7, 7, 7, 7, 7, 7},
    {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 3, 1, 2, 8, 8, 8, 7, 7, 7, 7, 7, 7, 7, 7, 7},
    {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 6, 3, 1, 2, 6, 8, 8, 8, 8, 8, 8, 8, 8, 7, 7, 7},
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 4, 3, 1, 2, 5, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9},
    {11, 11, 11, 11, 11, 11, 10, 10, 10, 7, 5, 3, 1, 2, 4, 7, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
    {12, 12, 11, 11, 11, 11, 11, 11, 8, 5, 4, 2, 2, 2, 3, 6, 8, 11, 11, 11, 11, 11, 11, 11, 11, 11},
    {10, 10, 10, 10, 10, 9, 7, 6, 5, 4, 3, 3, 2, 3, 3, 4, 5, 6, 7, 9, 10, 10, 10, 10, 10, 9},
    {11, 11, 11, 9, 8, 7, 6, 5, 4, 4, 3, 3, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 11, 11, 11, 10},
}};

uint32_t Reversed(uint32_t word, unsigned bits) {
  uint32_t out = 0;
  for (unsigned i = 0; i < bits; ++i) out |= (word >> i & 1) << (bits - 1 - i);
  return out;
}

}  // namespace

// Canonical: shorter codes first, then by symbol.
NormalCode::NormalCode(const std::array<uint8_t, kSymbols>& bits) : bits_(bits) {
  uint32_t next = 0;
  for (unsigned length = 1; length <= kMaxBits; ++length) {
    for (size_t symbol = 0; symbol < kSymbols; ++symbol) {
      if (bits_[symbol] != length) continue;
      words_[symbol] = Reversed(next++, length);
      for (uint32_t rest = 0; rest < 1u << (kMaxBits - length); ++rest) {
        decode_[words_[symbol] | rest << length] = {static_cast<uint8_t>(symbol),
                                                    static_cast<uint8_t>(length)};
      }
    }
    next <<= 1;
  }
}

const NormalCode& NormalCode::Get(size_t number) {
  static const std::array<NormalCode, kCodes> codes = {
      NormalCode(kLengths[0]), NormalCode(kLengths[1]), NormalCode(kLengths[2]), NormalCode(kLengths[3]),
      NormalCode(kLengths[4]), NormalCode(kLengths[5]), NormalCode(kLengths[6]), NormalCode(kLengths[7])};
  return codes[number];
}

size_t NormalCode::NumberFor(double deviation) {
  size_t number = 0;
  while (number + 1 < kCodes && deviation > kDeviations[number] * 1.19) ++number;
  return number;
}

}  // namespace fleetmark::collector
