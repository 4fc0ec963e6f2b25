// gRPC credentials for both ends from the paths of PEM files.
//
// With files: TLS 1.3, both sides show a certificate, files are looked at again every few seconds so that
// renewed ones are taken without a restart. Without: plaintext, which both daemons allow on loopback only.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_NET_CREDENTIALS_H_
#define FLEETMARK_COMMON_NET_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace fleetmark {

struct TlsFiles {
  std::string ca;           // authorities that the other side's certificate must come from
  std::string certificate;  // our certificate with its chain
  std::string key;
  bool enabled() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

// InvalidArgument when only some of the three are given; NotFound and so on when one can't be read.
absl::Status CheckTlsFiles(const TlsFiles& files);

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const TlsFiles& files);

// Is `address` ("127.0.0.1:9400", "[::1]:0", "localhost:1", "unix:/run/x") reachable from this machine only?
bool IsLocalAddress(const std::string& address);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_CREDENTIALS_H_
