// ActionService over gRPC. A full queue of calls answers RESOURCE_EXHAUSTED.
//
// Thread-safety: gRPC calls it from its threads. Ownership: `api` must outlive it, and it the gRPC server.
#ifndef FLEETMARK_COLLECTOR_QUERY_ACTION_SERVICE_H_
#define FLEETMARK_COLLECTOR_QUERY_ACTION_SERVICE_H_

#include <memory>

#include "collector/query/caller_check.h"

namespace grpc {
class Service;
}

namespace fleetmark::collector {

class ActionApi;

class ActionService {
 public:
  ActionService(const ActionApi& api, CallerCheck check_caller);
  ~ActionService();

  // To register with a grpc::ServerBuilder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ACTION_SERVICE_H_
