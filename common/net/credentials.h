// gRPC credentials for both ends.
//
// With certificates: TLS 1.3 and nothing older, both sides show a certificate, and renewed ones are taken
// without a restart: connections that are open stay. Without: plaintext, which both daemons allow on loopback
// only.
//
// gRPC 1.51 offers no way to ask for TLS 1.3 alone. What it does offer is the list of ciphers of older
// versions, by an environment variable that is read once: it is set, before the first use, to one that needs
// a shared secret which nobody has, so that an older handshake finds no cipher. A test holds that.
//
// Thread-safety: functions without state; the first call of any belongs before other threads, since it sets
// that variable. Errors: those of CheckTlsFiles.
#ifndef FLEETMARK_COMMON_NET_CREDENTIALS_H_
#define FLEETMARK_COMMON_NET_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/net/endpoint.h"
#include "common/net/tls_material.h"
#include "common/tls/certificate.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
class ServerContextBase;
}  // namespace grpc

namespace fleetmark {

// `files` as they are now. A client that shows no certificate, as one with a token, has `ca` alone.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const TlsFiles& files);

// As `material` has them now: a client makes them anew for each connection, which needs no thread that looks
// whether something has changed. Null: plaintext.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsMaterial* material);

// Must a client show a certificate, or may it come without one, to show who it is by other means?
enum class ClientCertificates { kRequired, kOptional };

// As `material` has them at any time, within two seconds. A certificate that a client shows must be of an
// authority of ours and not revoked.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    std::shared_ptr<TlsMaterial> material, ClientCertificates clients = ClientCertificates::kRequired);

// The server shows its certificate, and asks for none: for nodes that have none yet.
std::shared_ptr<grpc::ServerCredentials> MakeJoinServerCredentials(std::shared_ptr<TlsMaterial> material);

// The other end of it: shows none, and trusts a server whose chain holds the authority with that fingerprint.
std::shared_ptr<grpc::ChannelCredentials> MakeJoinChannelCredentials(const std::string& pin, Clock& clock);

// The certificate that the peer has shown; NotFound without TLS.
absl::StatusOr<Certificate> PeerCertificate(const grpc::ServerContextBase& context);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_CREDENTIALS_H_
