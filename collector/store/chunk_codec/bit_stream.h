// Bits in a string, least significant first, and the varints around them. Readers never read past the end:
// what is missing reads as zero, and `ok` then says so.
//
// Thread-safety: none; each object belongs to one thread. A BitReader does not own the bytes.
#ifndef FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_BIT_STREAM_H_
#define FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_BIT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fleetmark::collector {

class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(out) {}

  // The `bits` low bits of `value`; the others must be zero. At most 64.
  void Write(uint64_t value, unsigned bits) {
    if (bits > 32) {
      WriteShort(value & 0xFFFFFFFF, 32);
      value >>= 32;
      bits -= 32;
    }
    WriteShort(value, bits);
  }

  // Pads with zero bits to a whole byte.
  void Finish() {
    while (used_ > 0) {
      out_->push_back(static_cast<char>(buffer_));
      buffer_ >>= 8;
      used_ = used_ > 8 ? used_ - 8 : 0;
    }
  }

 private:
  void WriteShort(uint64_t value, unsigned bits) {
    buffer_ |= value << used_;
    used_ += bits;
    if (used_ < 32) return;
    char bytes[4];
    const auto word = static_cast<uint32_t>(buffer_);
    std::memcpy(bytes, &word, sizeof bytes);
    out_->append(bytes, sizeof bytes);
    buffer_ >>= 32;
    used_ -= 32;
  }

  std::string* const out_;
  uint64_t buffer_ = 0;  // fewer than 32 bits between calls
  unsigned used_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : data_(bytes.data()), bytes_(bytes.size()) {}

  // The next bits without taking them; at least 56 of the result are right.
  uint64_t Peek() const {
    const size_t byte = position_ >> 3;
    uint64_t word = 0;
    if (byte + 8 <= bytes_) {
      std::memcpy(&word, data_ + byte, 8);
    } else if (byte < bytes_) {
      std::memcpy(&word, data_ + byte, bytes_ - byte);
    }
    return word >> (position_ & 7);
  }
  void Skip(unsigned bits) { position_ += bits; }

  // At most 64.
  uint64_t Read(unsigned bits) {
    if (bits <= 56) return ReadShort(bits);
    const uint64_t low = ReadShort(32);
    return low | ReadShort(bits - 32) << 32;
  }

  bool ok() const { return position_ <= 8 * bytes_; }
  // What was begun, in whole bytes.
  size_t bytes_read() const { return (position_ + 7) >> 3; }

 private:
  uint64_t ReadShort(unsigned bits) {
    const uint64_t value = Peek() & ((uint64_t{1} << bits) - 1);
    Skip(bits);
    return value;
  }

  const char* const data_;
  const size_t bytes_;
  size_t position_ = 0;  // in bits
};

inline void AppendVarint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Takes the varint off the front; false, and nothing taken, when there is none.
inline bool TakeVarint(std::string_view* in, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 10 && i < in->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*in)[i]);
    if (i == 9 && byte > 1) return false;
    result |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      in->remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return false;
}

// Small numbers of either sign are short.
inline void AppendSigned(std::string* out, int64_t value) {
  AppendVarint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

inline bool TakeSigned(std::string_view* in, int64_t* value) {
  uint64_t coded = 0;
  if (!TakeVarint(in, &coded)) return false;
  *value = static_cast<int64_t>(coded >> 1 ^ (~(coded & 1) + 1));
  return true;
}

inline bool TakeByte(std::string_view* in, uint8_t* value) {
  if (in->empty()) return false;
  *value = static_cast<uint8_t>(in->front());
  in->remove_prefix(1);
  return true;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_CHUNK_CODEC_BIT_STREAM_H_
