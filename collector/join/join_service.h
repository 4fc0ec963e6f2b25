// JoinService and CertificateService over gRPC: certificates from the collector's own authority.
//
// Both work on the authority's folder in a thread of a small pool; when more calls wait than it takes, they
// are answered RESOURCE_EXHAUSTED. Why a token was refused is logged and not told.
//
// Thread-safety: gRPC calls it from its threads. Ownership: the folder and the callback's objects must
// outlive it, and it both servers.
#ifndef FLEETMARK_COLLECTOR_JOIN_JOIN_SERVICE_H_
#define FLEETMARK_COLLECTOR_JOIN_JOIN_SERVICE_H_

#include <memory>

#include "collector/join/authority_folder.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetmark::collector {

class JoinServices {
 public:
  explicit JoinServices(AuthorityFolder& authority);
  ~JoinServices();

  grpc::Service* join();         // for the server that asks for no certificate
  grpc::Service* certificate();  // for the one that does

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_JOIN_JOIN_SERVICE_H_
