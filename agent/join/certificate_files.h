// The node's certificate on its disk: what is asked for it, what comes back, and whether that is what was
// asked.
//
// The key is made here and goes nowhere but into the node's own file, readable by the agent's user alone. A
// configuration that names one file for key and certificate has both replaced in one step.
//
// Thread-safety: functions without state. Errors: InvalidArgument or PermissionDenied for an answer that is
// not what was asked; those of files.
#ifndef FLEETMARK_AGENT_JOIN_CERTIFICATE_FILES_H_
#define FLEETMARK_AGENT_JOIN_CERTIFICATE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/net/endpoint.h"
#include "common/tls/certificate.h"

namespace fleetmark::agent {

// "fmj1.ID.SECRET.FINGERPRINT" with the white space around it removed; InvalidArgument when it can't be one.
struct JoinToken {
  std::string text;
  std::string authority;  // fingerprint
};
absl::StatusOr<JoinToken> ParseJoinToken(const std::string& text);

// A key with a request for a certificate of it.
struct CertificateRequest {
  std::string key_pem;
  std::string request_pem;
};
absl::StatusOr<CertificateRequest> MakeCertificateRequest(const std::string& node);

// Checks the answer, then writes it and the key. `authority` is the fingerprint that must be among the
// authorities; empty: of a renewal, whose connection was with one that is trusted already.
absl::Status TakeCertificate(const CertificateRequest& asked, const std::string& node,
                             const std::string& certificate_pem, const std::string& authorities_pem,
                             const std::string& authority, const TlsFiles& files);

// When to ask for the next one: when a third of its life is left, and up to a thirtieth earlier, other nodes
// at other times. InfiniteFuture for one that no collector made.
absl::Time RenewalTime(const Certificate& certificate, const std::string& node);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_JOIN_CERTIFICATE_FILES_H_
