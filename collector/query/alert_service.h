// AlertService over gRPC: hands each call to a small worker pool and translates its status. A full queue of
// calls answers RESOURCE_EXHAUSTED.
//
// Thread-safety: gRPC calls it from its threads. Ownership: `api` must outlive it, and it the gRPC server.
#ifndef FLEETMARK_COLLECTOR_QUERY_ALERT_SERVICE_H_
#define FLEETMARK_COLLECTOR_QUERY_ALERT_SERVICE_H_

#include <cstddef>
#include <memory>

#include "collector/query/caller_check.h"

namespace grpc {
class Service;
}

namespace fleetmark::collector {

class AlertApi;

class AlertService {
 public:
  struct Options {
    const AlertApi* api = nullptr;
    CallerCheck check_caller;
    size_t threads = 1;
    size_t queue = 64;
  };
  explicit AlertService(Options options);
  ~AlertService();

  // To register with a grpc::ServerBuilder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ALERT_SERVICE_H_
