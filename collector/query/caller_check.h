// Whether a gRPC caller may use a service for people.
//
// Thread-safety: as that of the check, which gRPC's threads call.
#ifndef FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_
#define FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"

#include "common/tls/certificate.h"

namespace grpc {
class ServerContextBase;
}

namespace fleetmark::collector {

// May the caller with this certificate (none without TLS) use the service? Empty: every caller may.
using CallerCheck = std::function<absl::Status(const std::optional<Certificate>& peer)>;

absl::Status CheckCaller(const CallerCheck& check, const grpc::ServerContextBase& context);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_
