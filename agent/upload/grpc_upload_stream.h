// UploadStream over gRPC: AgentService.Connect. The only file of the agent that includes gRPC is the .cc.
//
// A stream has one thread, which waits on the stream's completion queue and delivers all events. (gRPC's
// callback interface would start one thread for every two processors.) Each connection is a channel of its
// own, so that the uploader alone decides when to try again.
//
// Thread-safety and ownership: as upload_stream.h says.
#ifndef FLEETMARK_AGENT_UPLOAD_GRPC_UPLOAD_STREAM_H_
#define FLEETMARK_AGENT_UPLOAD_GRPC_UPLOAD_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"

#include "agent/upload/upload_stream.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetmark::agent {

class GrpcUploadConnector final : public UploadConnector {
 public:
  struct Options {
    // Asked for at each Connect, so that renewed certificates are shown (common/net/credentials.h).
    std::function<std::shared_ptr<grpc::ChannelCredentials>()> credentials;
    // A ping when nothing was read for this long, and how long its answer may take. The collector has to
    // allow pings this often.
    absl::Duration keepalive = absl::Minutes(2);
    absl::Duration keepalive_timeout = absl::Seconds(20);
    std::string agent_version;  // for the user agent text
  };

  explicit GrpcUploadConnector(Options options) : options_(std::move(options)) {}

  std::unique_ptr<UploadStream> Connect(const std::string& address, UploadStream::Events events) override;

 private:
  const Options options_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_GRPC_UPLOAD_STREAM_H_
