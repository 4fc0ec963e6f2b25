// FleetService over gRPC: hands each call to a small worker pool and translates its status.
//
// A full queue of calls answers RESOURCE_EXHAUSTED. A RunNow client that reads slowly misses progress in
// between, never the last message.
//
// Thread-safety: gRPC calls it from its threads. Ownership: `api` must outlive it, and it the gRPC server.
#ifndef FLEETMARK_COLLECTOR_QUERY_QUERY_SERVICE_H_
#define FLEETMARK_COLLECTOR_QUERY_QUERY_SERVICE_H_

#include <cstddef>
#include <memory>

#include "collector/query/caller_check.h"

namespace grpc {
class Service;
}

namespace fleetmark::collector {

class QueryApi;

class QueryService {
 public:
  struct Options {
    const QueryApi* api = nullptr;
    CallerCheck check_caller;
    size_t threads = 2;
    size_t queue = 64;
  };
  explicit QueryService(Options options);
  ~QueryService();

  // To register with a grpc::ServerBuilder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_QUERY_SERVICE_H_
