// The floor of the footprint comparison: a gRPC client that holds one idle TLS stream to a collector and
// does nothing else. Usage: bare_stream ADDRESS CA CERTIFICATE KEY NODE-NAME
#include <cstdio>

#include "grpcpp/grpcpp.h"

#include "common/net/credentials.h"
#include "fleetmark/v1/agent.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: %s ADDRESS CA CERTIFICATE KEY NODE-NAME\n", argv[0]);
    return 2;
  }
  const auto credentials = fleetmark::MakeChannelCredentials({argv[2], argv[3], argv[4]});
  if (!credentials.ok()) {
    fprintf(stderr, "%s\n", credentials.status().ToString().c_str());
    return 1;
  }
  const auto channel = grpc::CreateChannel(argv[1], *credentials);
  const auto stub = fleetmark::v1::AgentService::NewStub(channel);
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  fleetmark::v1::AgentMessage hello;
  hello.mutable_hello()->set_protocol(1);
  hello.mutable_hello()->mutable_node()->set_name(argv[5]);
  hello.mutable_hello()->set_epoch("00000000000000000000000000000000");
  if (!stream->Write(hello)) return 1;
  fleetmark::v1::CollectorMessage message;
  while (stream->Read(&message)) {
  }
  fprintf(stderr, "stream ended: %s\n", stream->Finish().error_message().c_str());
  return 1;
}
