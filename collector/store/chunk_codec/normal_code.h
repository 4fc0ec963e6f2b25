// Prefix codes for numbers that scatter normally around zero, as the noise of a benchmark does. A number's
// high bits, its step q = r >> k, are coded by a fixed Huffman code for a normal distribution of one of
// eight spreads; its k low bits are as good as random and stand as they are. No model is stored with the
// data but the code's number and k, which matters for chunks of a hundred values: within 0.1 bits of the
// entropy, where packing to the largest value takes about 0.8 bits more.
//
// Thread-safety: immutable tables.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_NORMAL_CODE_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_NORMAL_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace fleetmark::collector {

class NormalCode {
 public:
  static constexpr size_t kCodes = 8;
  static constexpr int kLargest = 12;                   // steps from -12 to 12 have a symbol
  static constexpr size_t kSymbols = 2 * kLargest + 2;  // the last one says that a raw number follows
  static constexpr size_t kEscape = kSymbols - 1;
  static constexpr unsigned kMaxBits = 12;

  // `number` below kCodes; ascending in spread.
  static const NormalCode& Get(size_t number);
  // The code for steps with this standard deviation.
  static size_t NumberFor(double deviation);

  unsigned bits(size_t symbol) const { return bits_[symbol]; }
  // The code's bits in the order in which they are written.
  uint32_t word(size_t symbol) const { return words_[symbol]; }

  struct Decoded {
    uint8_t symbol;
    uint8_t bits;
  };
  // Of the next kMaxBits bits of the stream.
  Decoded Decode(uint64_t peeked) const { return decode_[peeked & ((1u << kMaxBits) - 1)]; }

 private:
  explicit NormalCode(const std::array<uint8_t, kSymbols>& bits);

  std::array<uint8_t, kSymbols> bits_;
  std::array<uint32_t, kSymbols> words_{};
  std::array<Decoded, size_t{1} << kMaxBits> decode_{};
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_NORMAL_CODE_H_
