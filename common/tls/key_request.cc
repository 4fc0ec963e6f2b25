#include "common/tls/key_request.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "absl/strings/escaping.h"

#include "common/base/status.h"
#include "common/tls/openssl_types.h"

namespace fleetmark {

absl::StatusOr<std::string> MakeKey() {
  const openssl::Key key(EVP_EC_gen("P-256"));
  const openssl::Bio bio(BIO_new(BIO_s_secmem()));
  if (key == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return absl::InternalError(Message(openssl::Error("make a key")));
  }
  return openssl::Content(bio.get());
}

absl::StatusOr<std::string> MakeRequest(std::string_view key_pem, std::string_view common_name) {
  FM_ASSIGN_OR_RETURN(const openssl::Key key, openssl::ParseKey(key_pem));
  const openssl::RequestPtr request(X509_REQ_new());
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  if (X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) <= 0) {
    return openssl::Error("make a request for a certificate");
  }
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) return openssl::Error("write a request");
  return openssl::Content(bio.get());
}

absl::StatusOr<std::string> RandomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) != 1) {
    return absl::InternalError(Message(openssl::Error("random bytes")));
  }
  return absl::BytesToHexString(raw);
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fleetmark
