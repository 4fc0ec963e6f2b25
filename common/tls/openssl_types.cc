#include "common/tls/openssl_types.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"

namespace fleetmark::openssl {
namespace {

// No file of ours has a password; without this OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

absl::Status Error(std::string_view what) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), reason == nullptr ? "" : ": ", reason == nullptr ? "" : reason));
}

Bio ReadBio(std::string_view bytes) {
  return Bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

std::string Content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<X509Ptr> ParseCertificate(std::string_view pem) {
  const Bio bio = ReadBio(pem);
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) return Error("no certificate in PEM");
  return certificate;
}

absl::StatusOr<Key> ParseKey(std::string_view pem) {
  const Bio bio = ReadBio(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Error("no private key in PEM (or one with a password)");
  return key;
}

}  // namespace fleetmark::openssl
