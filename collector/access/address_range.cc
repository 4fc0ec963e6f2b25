#include "collector/access/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kV4Offset = 12;
constexpr int kV4Bits = 96;  // of ::ffff:0:0/96

std::optional<std::array<unsigned char, 16>> ToBytes(const std::string& address, bool* is_v4) {
  std::array<unsigned char, 16> bytes{};
  *is_v4 = inet_pton(AF_INET, address.c_str(), bytes.data() + kV4Offset) == 1;
  if (*is_v4) {
    bytes[10] = bytes[11] = 0xff;
    return bytes;
  }
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<AddressRange> AddressRange::Parse(const std::string& text) {
  const size_t slash = text.find('/');
  bool is_v4 = false;
  const auto bytes = ToBytes(text.substr(0, slash), &is_v4);
  AddressRange range;
  const int most = is_v4 ? 32 : 128;
  int bits = most;
  const bool good_bits = slash == std::string::npos ||
                         (absl::SimpleAtoi(text.substr(slash + 1), &bits) && bits >= 0 && bits <= most);
  if (!bytes.has_value() || !good_bits) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' must be an IP address or a range, as 10.0.0.7, 10.0.0.0/8 or fd00::/8"));
  }
  range.bytes_ = *bytes;
  range.bits_ = is_v4 ? kV4Bits + bits : bits;
  return range;
}

bool AddressRange::Contains(const std::string& address) const {
  bool is_v4 = false;
  const auto bytes = ToBytes(address, &is_v4);
  if (!bytes.has_value()) return false;
  const auto whole = static_cast<size_t>(bits_ / 8);
  if (!std::equal(bytes->begin(), bytes->begin() + whole, bytes_.begin())) return false;
  const int rest = bits_ % 8;
  return rest == 0 || ((*bytes)[whole] ^ bytes_[whole]) >> (8 - rest) == 0;
}

}  // namespace fleetmark::collector
