// Speaks the kubelet's PodResources API, version 1, on a Unix socket, until it is killed.
//
// usage: fake_kubelet SOCKET FILE
//
// FILE holds the ListPodResourcesResponse as protobuf's JSON. It is read anew for each call; while it is not
// there or is no such JSON, calls fail with INTERNAL.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "google/protobuf/util/json_util.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "agent/gate/podresources/v1.grpc.pb.h"

namespace {

class Kubelet final : public v1::PodResourcesLister::Service {
 public:
  explicit Kubelet(std::string file) : file_(std::move(file)) {}

  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    std::ifstream in(file_);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.is_open() && google::protobuf::util::JsonStringToMessage(text, response).ok()) {
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::INTERNAL, "device manager broken"};
  }

 private:
  const std::string file_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s SOCKET FILE\n", argv[0]);
    return 2;
  }
  Kubelet kubelet(argv[2]);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&kubelet);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  server->Wait();
  return 0;
}
