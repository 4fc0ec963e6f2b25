// One connection between the agent and one collector, made of whole messages, and what makes it. The
// uploader knows nothing else of the network: grpc_upload_stream.h is the real one, tests/fakes/
// fake_upload_stream.h one that loses, delays and doubles.
#ifndef FLEETMARK_AGENT_UPLOAD_UPLOAD_STREAM_H_
#define FLEETMARK_AGENT_UPLOAD_UPLOAD_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

// Thread-safety: Send and Finish from one thread, the owner's. Ownership: the owner destroys it, which
// cancels what is under way and returns when no event is or will be running; so not from within an event.
class UploadStream {
 public:
  // Called one at a time from any thread, also from within Send and Finish. They must return quickly.
  struct Events {
    std::function<void()> on_writable;  // connected, and later: the last message was taken, Send again
    std::function<void(v1::CollectorMessage)> on_message;
    std::function<void(absl::Status)> on_closed;  // once, the last; OK when the collector ended it normally
  };

  virtual ~UploadStream() = default;

  // Takes one message; never waits. Only once after each on_writable. On a closed stream it does nothing.
  virtual void Send(const v1::AgentMessage& message) = 0;

  // Nothing more will be sent. After on_writable alone, as Send; the collector then closes.
  virtual void Finish() = 0;
};

// Thread-safety: Connect from one thread. Ownership: outlives its streams.
class UploadConnector {
 public:
  virtual ~UploadConnector() = default;

  // Begins to connect to `address` ("host:port") and returns at once. on_writable or on_closed tells how
  // it went; there is no time limit of its own.
  virtual std::unique_ptr<UploadStream> Connect(const std::string& address, UploadStream::Events events) = 0;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_UPLOAD_STREAM_H_
