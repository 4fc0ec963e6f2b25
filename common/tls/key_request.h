// Private keys, and requests for a certificate of them (PKCS #10), as an agent makes them: the key itself
// goes nowhere.
//
// Keys are of the curve P-256: accepted everywhere TLS 1.3 is, and small.
//
// Thread-safety: functions without state. Errors: InvalidArgument for what is no PEM, no key, or no request;
// Internal when OpenSSL fails.
#ifndef FLEETMARK_COMMON_TLS_KEY_REQUEST_H_
#define FLEETMARK_COMMON_TLS_KEY_REQUEST_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark {

// A new key in PEM (PKCS #8, no password).
absl::StatusOr<std::string> MakeKey();

// A request signed by the key, in PEM. The name is for people who look at it: an authority of ours puts into
// the certificate what it knows of the sender, not what the request says.
absl::StatusOr<std::string> MakeRequest(std::string_view key_pem, std::string_view common_name);

// `bytes` of the kernel's randomness in lower-case hex.
absl::StatusOr<std::string> RandomHex(size_t bytes);

// Takes as long for strings that differ early as for those that differ late.
bool EqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_TLS_KEY_REQUEST_H_
