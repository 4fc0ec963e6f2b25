// Owned OpenSSL objects and its errors as absl::Status. Only for the files of this folder.
//
// Thread-safety: functions without state; an object is one thread's at a time.
#ifndef FLEETMARK_COMMON_TLS_OPENSSL_TYPES_H_
#define FLEETMARK_COMMON_TLS_OPENSSL_TYPES_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark::openssl {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, Deleter<X509_CRL_free>>;

// InvalidArgument with `what` and the reason that OpenSSL gives; empties its queue of errors.
absl::Status Error(std::string_view what);

Bio ReadBio(std::string_view bytes);
std::string Content(BIO* bio);

// The first certificate in a PEM text; other blocks before it are passed over.
absl::StatusOr<X509Ptr> ParseCertificate(std::string_view pem);
absl::StatusOr<Key> ParseKey(std::string_view pem);

}  // namespace fleetmark::openssl

#endif  // FLEETMARK_COMMON_TLS_OPENSSL_TYPES_H_
