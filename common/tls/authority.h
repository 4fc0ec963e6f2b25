// A certificate authority of the site's own: its key, what it signs, and the list of what it took back.
//
// What is signed: for nodes, a certificate for clients alone, with the URI fleetmark:node:NAME, so that a
// stolen one can't be used to pose as a collector; for the collector, one for servers alone. All by RFC 5280;
// signatures are ECDSA over P-256 with SHA-256.
//
// Thread-safety: functions without state. Errors: InvalidArgument for what can't be parsed or does not fit.
#ifndef FLEETMARK_COMMON_TLS_AUTHORITY_H_
#define FLEETMARK_COMMON_TLS_AUTHORITY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

inline constexpr char kNodeUriPrefix[] = "fleetmark:node:";

struct Signer {
  std::string certificate_pem;
  std::string key_pem;
};

struct Validity {
  absl::Time from;
  absl::Time until;
};

// A new authority that may sign certificates of ends, and no further authorities.
absl::StatusOr<Signer> MakeAuthority(std::string_view name, Validity validity);

// A certificate in PEM for the key of `request_pem`, whose signature must be right: else somebody could have
// a key certified that is not his. Everything else that the request says is ignored.
absl::StatusOr<std::string> SignNode(const Signer& signer, std::string_view request_pem,
                                     std::string_view node, Validity validity);

// `names` are DNS names and IP addresses.
absl::StatusOr<std::string> SignServer(const Signer& signer, std::string_view key_pem,
                                       const std::vector<std::string>& names, Validity validity);

struct Revoked {
  std::string serial;  // hex
  absl::Time when;
};

// A list of revoked certificates (CRL, version 2) in PEM.
absl::StatusOr<std::string> SignRevocations(const Signer& signer, const std::vector<Revoked>& revoked,
                                            Validity validity);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_TLS_AUTHORITY_H_
