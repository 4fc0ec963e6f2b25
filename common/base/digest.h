// SHA-256 (OpenSSL). Thread-safety: functions without state, but for the class.
#ifndef FLEETMARK_COMMON_BASE_DIGEST_H_
#define FLEETMARK_COMMON_BASE_DIGEST_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace fleetmark {

// Of bytes that come in pieces. One thread's at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // 64 lower-case hex digits. Called once, after which the object is spent.
  std::string FinishHex();

 private:
  void* const context_;
};

// 64 lower-case hex digits.
std::string Sha256Hex(std::string_view bytes);

// HMAC-SHA256 (RFC 2104) of `bytes`: 64 lower-case hex digits.
std::string HmacSha256Hex(std::string_view key, std::string_view bytes);

// The first 16 digits of the SHA-256: names a content where nobody gains by forging it.
std::string ShortDigest(std::string_view bytes);

// The first eight bytes of the SHA-256: a hash that is the same on every machine and in every release.
uint64_t StableHash64(std::string_view bytes);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_DIGEST_H_
