#include "common/base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace fleetmark {
namespace {

std::string RawSha256(std::string_view bytes) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::Update(std::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string Sha256::FinishHex() {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), reinterpret_cast<unsigned char*>(out.data()),
                     nullptr);
  return absl::BytesToHexString(out);
}

std::string Sha256Hex(std::string_view bytes) { return absl::BytesToHexString(RawSha256(bytes)); }

std::string HmacSha256Hex(std::string_view key, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest, &length);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), length));
}

std::string ShortDigest(std::string_view bytes) { return Sha256Hex(bytes).substr(0, 16); }

uint64_t StableHash64(std::string_view bytes) {
  const std::string digest = RawSha256(bytes);
  uint64_t h = 0;
  for (int i = 0; i < 8; ++i) h = h << 8 | static_cast<unsigned char>(digest[static_cast<size_t>(i)]);
  return h;
}

}  // namespace fleetmark
