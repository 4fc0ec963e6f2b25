// X.509 certificates: what one says, whether a key belongs to it, and whether a server's chain leads to a
// certificate that is known by its fingerprint.
//
// Thread-safety: functions without state. Errors: InvalidArgument for what is no PEM, no certificate, or does
// not fit; PermissionDenied for a chain that is well-formed and not to be trusted.
#ifndef FLEETMARK_COMMON_TLS_CERTIFICATE_H_
#define FLEETMARK_COMMON_TLS_CERTIFICATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

struct Certificate {
  std::string common_name;             // empty: none
  std::vector<std::string> dns_names;  // of the subject's alternative names
  std::vector<std::string> uris;
  std::string serial;  // lower-case hex
  std::string issuer;  // its name as RFC 2253 writes it
  absl::Time not_before;
  absl::Time not_after;
  std::string fingerprint;  // SHA-256 of the DER form, lower-case hex
};

// The first certificate of a PEM text, which may hold a key and a chain too. A name with a NUL in it, which
// once fooled readers of C strings, is an error.
absl::StatusOr<Certificate> ReadCertificate(std::string_view pem);

// All of them; an empty list is an error.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem);

// Does the private key in `key_pem` belong to the first certificate of `certificate_pem`?
absl::Status CheckPair(std::string_view certificate_pem, std::string_view key_pem);

// Is the first certificate of `chain_pem` one of a server `host` (a DNS name or an IP address), valid at
// `now`, and signed, over the others, by the one whose fingerprint is `pin`? That must be among them.
absl::Status VerifyPinnedServer(std::string_view chain_pem, std::string_view pin, const std::string& host,
                                absl::Time now);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_TLS_CERTIFICATE_H_
