// absl::Status to grpc::Status and back; their codes have the same numbers.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_NET_GRPC_STATUS_H_
#define FLEETMARK_COMMON_NET_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace fleetmark {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_GRPC_STATUS_H_
