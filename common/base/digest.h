// SHA-256 (OpenSSL). Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_BASE_DIGEST_H_
#define FLEETMARK_COMMON_BASE_DIGEST_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace fleetmark {

// 64 lower-case hex digits.
std::string Sha256Hex(std::string_view bytes);

// The first eight bytes of the SHA-256: a hash that is the same on every machine and in every release.
uint64_t StableHash64(std::string_view bytes);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_DIGEST_H_
