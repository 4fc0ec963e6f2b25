#include "agent/upload/grpc_upload_stream.h"

#include <cstdint>
#include <thread>
#include <utility>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/channel_arguments.h"

#include "common/base/mutex.h"
#include "common/model/limits.h"
#include "common/net/grpc_status.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::agent {
namespace {

class GrpcUploadStream final : public UploadStream {
 public:
  GrpcUploadStream(std::shared_ptr<grpc::Channel> channel, Events events)
      : events_(std::move(events)), stub_(v1::AgentService::NewStub(std::move(channel))) {
    context_.set_wait_for_ready(false);
    call_ = stub_->PrepareAsyncConnect(&context_, &queue_);
    call_->StartCall(Tag(Operation::kStart));
    thread_ = std::thread([this] { Run(); });
  }

  ~GrpcUploadStream() override {
    context_.TryCancel();
    thread_.join();
  }

  void Send(const v1::AgentMessage& message) override {
    MutexLock lock(mu_);
    if (!closed_) call_->Write(message, Tag(Operation::kWrite));
  }

  void Finish() override {
    MutexLock lock(mu_);
    if (!closed_) call_->WritesDone(Tag(Operation::kWritesDone));
  }

 private:
  enum class Operation : intptr_t { kStart = 1, kRead, kWrite, kWritesDone, kFinish };
  static void* Tag(Operation operation) { return reinterpret_cast<void*>(operation); }

  // Ends when the queue is shut down and empty, which kFinish brings about.
  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) OnDone(static_cast<Operation>(reinterpret_cast<intptr_t>(tag)), ok);
    events_.on_closed(FromGrpc(status_));
  }

  void OnDone(Operation operation, bool ok) {
    switch (operation) {
      case Operation::kStart:
        if (!ok) return call_->Finish(&status_, Tag(Operation::kFinish));
        call_->Read(&incoming_, Tag(Operation::kRead));
        return events_.on_writable();
      case Operation::kRead:
        // There is always a read under way, so it is what notices the end of the stream.
        if (!ok) return call_->Finish(&status_, Tag(Operation::kFinish));
        events_.on_message(std::exchange(incoming_, {}));
        return call_->Read(&incoming_, Tag(Operation::kRead));
      case Operation::kWrite:
        if (ok) events_.on_writable();
        return;
      case Operation::kWritesDone:
        return;
      case Operation::kFinish: {
        MutexLock lock(mu_);
        closed_ = true;
        return queue_.Shutdown();
      }
    }
  }

  const Events events_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::AgentMessage, v1::CollectorMessage>> call_;
  v1::CollectorMessage incoming_;  // of the thread
  grpc::Status status_;            // of the thread

  Mutex mu_;  // no operation may begin once the queue is shut down
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

}  // namespace

std::unique_ptr<UploadStream> GrpcUploadConnector::Connect(const std::string& address,
                                                           UploadStream::Events events) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kMessageBytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options_.keepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options_.keepalive_timeout));
  arguments.SetUserAgentPrefix("fleetmark-agent/" + options_.agent_version);
  // gRPC would share connections, and their waiting times after failures, between channels.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // What a single plain stream has no use for.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  return std::make_unique<GrpcUploadStream>(
      grpc::CreateCustomChannel(address, options_.credentials(), arguments), std::move(events));
}

}  // namespace fleetmark::agent
