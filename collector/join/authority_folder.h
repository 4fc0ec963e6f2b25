// The folder of the collector's own certificate authority, and all that is done with it. The daemon and the
// `fleetmark-collector ca` commands work on it at the same time: what changes it holds a lock (flock).
//
//   ca.pem        the authority's certificate first, then others that nodes are to trust too
//   ca.key        its key, readable by the collector's user alone
//   crl.pem       what is revoked
//   collector.pem the collector's own key and certificate, in one file
//   tokens/ID     one that was not used yet (join_tokens.h)
//   issued/NODE   a line for each certificate of the node that has not expired: its serial and its end
//   names         whom the collector's certificate names, one a line
//
// Times are the wall clock's. A certificate's begin is an hour early, for nodes whose clocks are behind.
//
// Thread-safety: all methods, any thread; each call reads what it needs from the folder, and blocks on it.
// Errors: those of files; FailedPrecondition for a folder that is no authority's or already is one;
// PermissionDenied for a token or certificate that is not to be trusted; ResourceExhausted at a bound.
#ifndef FLEETMARK_COLLECTOR_JOIN_AUTHORITY_FOLDER_H_
#define FLEETMARK_COLLECTOR_JOIN_AUTHORITY_FOLDER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/net/endpoint.h"
#include "common/tls/authority.h"
#include "common/tls/certificate.h"

namespace fleetmark::collector {

class AuthorityFolder {
 public:
  struct Options {
    std::string folder;
    absl::Duration node_lifetime = absl::Hours(24 * 30);
    absl::Duration server_lifetime = absl::Hours(24 * 90);
    size_t max_certificates_of_node = 100;  // that are valid at once; renewals included
  };
  AuthorityFolder(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // Makes the authority, and a certificate of a collector with these names (DNS, IP addresses).
  absl::Status Init(const std::vector<std::string>& names);

  // A token with which `node` may join once, within `valid`. It holds the authority's fingerprint too.
  absl::StatusOr<std::string> NewToken(const std::string& node, absl::Duration valid);

  struct Issued {
    std::string certificate_pem;
    std::string authorities_pem;
  };
  // Uses the token up, whatever comes of it, if its secret is right.
  absl::StatusOr<Issued> Join(const std::string& token, const std::string& node,
                              const std::string& request_pem);
  // For the node of a certificate that the authority made and that is not revoked now.
  absl::StatusOr<Issued> Renew(const Certificate& current, const std::string& request_pem);

  // Revokes what is valid of the node, and its tokens. The number of certificates; NotFound when the node has
  // neither.
  absl::StatusOr<size_t> Revoke(const std::string& node);

  struct NodeCertificate {
    std::string node;
    std::string serial;
    absl::Time not_after;
  };
  // Those that have neither expired nor been revoked, by node.
  absl::StatusOr<std::vector<NodeCertificate>> List() const;

  // Makes the collector's certificate anew when less than a third of its time is left. True when it did.
  absl::StatusOr<bool> RenewServerIfDue();
  // Removes tokens that have expired.
  absl::Status RemoveExpiredTokens();

  // What a daemon or a client of this authority has in its `tls` section.
  static TlsFiles ServerFiles(const std::string& folder);

 private:
  std::string Path(const std::string& name) const;
  absl::StatusOr<Signer> ReadSigner() const;
  absl::StatusOr<Issued> Issue(const std::string& node, const std::string& request_pem);
  absl::Status Note(const std::string& node, const std::string& certificate_pem);
  absl::StatusOr<std::vector<NodeCertificate>> IssuedTo(const std::string& node) const;
  absl::Status WriteServerCertificate(const Signer& signer, const std::vector<std::string>& names);
  absl::Status WriteRevocations(const Signer& signer, const std::vector<Revoked>& revoked);
  absl::Status Write(const std::string& name, const std::string& content, int mode) const;

  const Options options_;
  Clock& clock_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_JOIN_AUTHORITY_FOLDER_H_
