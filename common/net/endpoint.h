// Addresses and the files of TLS, apart from gRPC, so that configuration can be checked without it.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_NET_ENDPOINT_H_
#define FLEETMARK_COMMON_NET_ENDPOINT_H_

#include <string>

#include "absl/status/status.h"

namespace fleetmark {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;
  std::string ToString() const;  // with brackets where they are needed
};

// "127.0.0.1:9411", "[::1]:9411" or "name:9411" into its halves. InvalidArgument with what would be right.
absl::Status ParseHostPort(const std::string& text, HostPort* out);

// Is `host` ("127.0.0.1", "::1", "localhost") reachable from this machine only?
bool IsLoopback(const std::string& host);

struct TlsFiles {
  std::string ca;           // authorities that the other side's certificate must come from
  std::string certificate;  // our certificate with its chain
  std::string key;          // may be the same file as the certificate: then both are replaced at once
  std::string crl;          // empty: nothing is revoked
  bool enabled() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

// InvalidArgument when only some of the first three are given or one is not PEM; NotFound and so on when one
// can't be read.
absl::Status CheckTlsFiles(const TlsFiles& files);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_ENDPOINT_H_
