#include "collector/query/caller_check.h"

#include <utility>

#include "absl/status/statusor.h"

#include "common/net/credentials.h"

namespace fleetmark::collector {

absl::Status CheckCaller(const CallerCheck& check, const grpc::ServerContextBase& context) {
  if (!check) return absl::OkStatus();
  absl::StatusOr<Certificate> peer = PeerCertificate(context);
  return check(peer.ok() ? std::make_optional(*std::move(peer)) : std::nullopt);
}

}  // namespace fleetmark::collector
