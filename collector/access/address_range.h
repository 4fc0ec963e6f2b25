// Ranges of IP addresses, as 10.0.0.0/8 or fd00::/8, and single ones.
//
// Thread-safety: constant once made.
#ifndef FLEETMARK_COLLECTOR_ACCESS_ADDRESS_RANGE_H_
#define FLEETMARK_COLLECTOR_ACCESS_ADDRESS_RANGE_H_

#include <array>
#include <string>

#include "absl/status/statusor.h"

namespace fleetmark::collector {

class AddressRange {
 public:
  // InvalidArgument with what would be right.
  static absl::StatusOr<AddressRange> Parse(const std::string& text);

  // False for what is no IP address. An IPv4 address in IPv6's form counts as the IPv4 address.
  bool Contains(const std::string& address) const;

 private:
  std::array<unsigned char, 16> bytes_{};  // IPv4 as ::ffff:a.b.c.d
  int bits_ = 128;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_ADDRESS_RANGE_H_
