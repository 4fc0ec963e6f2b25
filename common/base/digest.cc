#include "common/base/digest.h"

#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace fleetmark {
namespace {

std::string Sha256(std::string_view bytes) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) { return absl::BytesToHexString(Sha256(bytes)); }

uint64_t StableHash64(std::string_view bytes) {
  const std::string digest = Sha256(bytes);
  uint64_t h = 0;
  for (int i = 0; i < 8; ++i) h = h << 8 | static_cast<unsigned char>(digest[static_cast<size_t>(i)]);
  return h;
}

}  // namespace fleetmark
