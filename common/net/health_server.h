// A gRPC server that answers health checks and nothing else, for a process that serves no gRPC otherwise.
//
// It is in plain text and asks nobody who they are: Kubernetes' probes can do neither. What it gives away is
// whether the process is well. Bounds: requests of 4 KiB, 64 watches, 16 MiB of memory for connections; one
// that is idle for a minute is closed.
//
// Thread-safety: all methods, any thread. Ownership: owns its server and threads.
#ifndef FLEETMARK_COMMON_NET_HEALTH_SERVER_H_
#define FLEETMARK_COMMON_NET_HEALTH_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"

#include "common/base/clock.h"
#include "common/net/endpoint.h"
#include "common/net/health_service.h"

namespace fleetmark {

class HealthServer {
 public:
  // Port 0 picks a free one. Unavailable: the address can't be listened on.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const HostPort& address,
                                                             HealthService::States states, Clock& clock);
  ~HealthServer();  // stops
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  int port() const;

  // Tells watchers that nothing serves any more, and ends within a second. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit HealthServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_HEALTH_SERVER_H_
