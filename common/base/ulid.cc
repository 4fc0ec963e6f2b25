#include "common/base/ulid.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/escaping.h"

#include "common/base/digest.h"

namespace fleetmark {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

std::string RandomBytes(size_t n) {
  std::string bytes(n, '\0');
  // Requests of up to 256 bytes are never short once the source is initialised.
  if (getrandom(bytes.data(), n, 0) != static_cast<ssize_t>(n)) std::abort();
  return bytes;
}

// `tail` holds the last 80 bits.
std::string EncodeUlid(absl::Time time, std::string_view tail) {
  std::array<uint8_t, 16> raw{};
  const auto ms = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMillis(time)));
  for (int i = 0; i < 6; ++i) raw[static_cast<size_t>(i)] = static_cast<uint8_t>(ms >> (40 - 8 * i));
  for (size_t i = 0; i < 10; ++i) raw[6 + i] = static_cast<uint8_t>(tail[i]);

  // 128 bits in 26 digits of 5 bits: two zero bits come first.
  std::string text(26, '0');
  for (size_t digit = 0; digit < 26; ++digit) {
    unsigned value = 0;
    for (size_t bit = 0; bit < 5; ++bit) {
      const size_t position = digit * 5 + bit;
      const unsigned b = position < 2 ? 0u : (raw[(position - 2) / 8] >> (7 - (position - 2) % 8)) & 1u;
      value = value << 1 | b;
    }
    text[digit] = kAlphabet[value];
  }
  return text;
}

}  // namespace

std::string NewUlid(absl::Time time) { return EncodeUlid(time, RandomBytes(10)); }

std::string UlidFromSeed(absl::Time time, std::string_view seed) {
  return EncodeUlid(time, absl::HexStringToBytes(Sha256Hex(seed).substr(0, 20)));
}

bool IsUlid(std::string_view text) {
  return text.size() == 26 && text[0] <= '7' && std::all_of(text.begin(), text.end(), [](char c) {
           return kAlphabet.find(c) != std::string_view::npos;
         });
}

std::string RandomHex128() { return absl::BytesToHexString(RandomBytes(16)); }

}  // namespace fleetmark
