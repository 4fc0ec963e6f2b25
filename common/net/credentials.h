// gRPC credentials for both ends from the paths of PEM files.
//
// With files: TLS 1.3, both sides show a certificate, files are looked at again, by a server every 5 s and by
// a client every minute, so that renewed ones are taken without a restart. Without: plaintext, which both
// daemons allow on loopback only.
//
// Thread-safety: functions without state. Errors: those of CheckTlsFiles.
#ifndef FLEETMARK_COMMON_NET_CREDENTIALS_H_
#define FLEETMARK_COMMON_NET_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "common/net/endpoint.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace fleetmark {

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const TlsFiles& files);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_CREDENTIALS_H_
