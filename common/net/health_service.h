// gRPC's health protocol (proto/grpc/health/v1/health.proto) over states that are kept elsewhere: Check asks
// for the state, Watch tells each change of it.
//
// While anybody watches, a thread looks at the states once in `look_interval`; with no watch it sleeps.
//
// Bounds: at most `max_watches` watches, one more ends with ResourceExhausted; a watch holds one message, and
// a watcher that reads slowly is told the newest state only.
//
// Thread-safety: all methods, any thread. Nothing here blocks gRPC's threads but the states' callbacks.
// Ownership: the clock must outlive it, and it must outlive the server that it is registered with.
// Shutdown: Stop, then the server's.
#ifndef FLEETMARK_COMMON_NET_HEALTH_SERVICE_H_
#define FLEETMARK_COMMON_NET_HEALTH_SERVICE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"

#include "common/base/clock.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetmark {

class HealthService {
 public:
  // Whether each service serves, by the name that clients ask for; "" is the process as a whole. Called from
  // any thread, with no lock held; must answer at once.
  using States = std::map<std::string, std::function<bool()>>;

  struct Options {
    States states;
    absl::Duration look_interval = absl::Seconds(1);
    size_t max_watches = 64;
  };

  HealthService(Options options, Clock& clock);
  ~HealthService();  // stops
  HealthService(const HealthService&) = delete;
  HealthService& operator=(const HealthService&) = delete;

  grpc::Service* service();

  // From now on nothing serves: watchers are told and their streams end with Unavailable.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_NET_HEALTH_SERVICE_H_
