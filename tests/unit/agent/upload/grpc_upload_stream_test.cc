// The real stream against a real server on loopback.
#include "agent/upload/grpc_upload_stream.h"

#include <set>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "agent/upload/uploader.h"
#include "common/net/credentials.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

// Stores and acknowledges; says how often it was connected to.
class Service final : public v1::AgentService::Service {
 public:
  grpc::Status Connect(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::CollectorMessage, v1::AgentMessage>* stream) override {
    v1::AgentMessage message;
    if (!stream->Read(&message) || !message.has_hello())
      return {grpc::StatusCode::INVALID_ARGUMENT, "no Hello"};
    v1::CollectorMessage answer;
    {
      MutexLock lock(mu_);
      ++connections_;
      answer.mutable_welcome()->set_acked_sequence(stored_.empty() ? 0 : *stored_.rbegin());
    }
    stream->Write(answer);
    while (stream->Read(&message)) {
      if (!message.has_records()) continue;
      MutexLock lock(mu_);
      for (const v1::Record& record : message.records().records()) stored_.insert(record.sequence());
      answer.mutable_ack()->set_sequence(*stored_.rbegin());
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  size_t stored() {
    MutexLock lock(mu_);
    return stored_.size();
  }
  int connections() {
    MutexLock lock(mu_);
    return connections_;
  }

 private:
  Mutex mu_;
  std::set<uint64_t> stored_ ABSL_GUARDED_BY(mu_);
  int connections_ ABSL_GUARDED_BY(mu_) = 0;
};

std::unique_ptr<grpc::Server> Serve(Service& service, int& port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

class GrpcUploadStreamTest : public ::testing::Test {
 protected:
  GrpcUploadStreamTest() {
    Spool::Options spool;
    spool.folder = folder_.path();
    spool_ = *Spool::Open(spool, RealClock());
    callbacks_.make_hello = [] { return v1::Hello(); };
    options_.backoff = {absl::Milliseconds(20), absl::Milliseconds(200), 2.0};
  }

  void Append(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(spool_->Append(RunRecord(std::string(bytes, 'x')), Spool::Kind::kOther).ok());
    }
  }

  // Waits for real: this test is of the network, which has no fake clock.
  template <typename Predicate>
  bool Await(Predicate predicate) {
    for (int i = 0; i < 3000; ++i) {
      if (predicate()) return true;
      WaitFor(RealClock(), absl::Milliseconds(5));
    }
    return false;
  }

  TemporaryFolder folder_;
  GrpcUploadConnector connector_{
      {.credentials = [] { return MakeChannelCredentials(nullptr); }, .agent_version = "test"}};
  Uploader::Options options_;
  Uploader::Callbacks callbacks_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(GrpcUploadStreamTest, SendsAllAndComesBackAfterTheServerRestarts) {
  Service service;
  int port = 0;
  auto server = Serve(service, port);
  ASSERT_NE(server, nullptr);
  options_.collectors = {"127.0.0.1:" + std::to_string(port)};
  Uploader uploader(options_, callbacks_, *spool_, connector_, RealClock());
  Append(40, 100'000);  // more than HTTP/2's first window
  uploader.Start();
  EXPECT_TRUE(Await([&] { return spool_->stats().records == 0; }));
  EXPECT_EQ(service.stored(), 40u);

  server->Shutdown(std::chrono::system_clock::now());
  server.reset();
  Append(5, 1000);
  uploader.NotifyAppended();
  EXPECT_TRUE(Await([&] { return uploader.stats().failures >= 2; }));
  EXPECT_EQ(spool_->stats().records, 5u);
  server = Serve(service, port);
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(Await([&] { return spool_->stats().records == 0; }));
  EXPECT_EQ(service.stored(), 45u);
  EXPECT_EQ(service.connections(), 2);

  Append(3, 1000);
  uploader.Stop(absl::Seconds(10));
  EXPECT_EQ(service.stored(), 48u);
  server->Shutdown();
}

TEST_F(GrpcUploadStreamTest, UnreachableCollectorIsUnavailableAndStopIsQuick) {
  options_.collectors = {"127.0.0.1:1"};
  absl::Status last;
  Mutex mu;
  callbacks_.on_disconnected = [&](const absl::Status& status) {
    MutexLock lock(mu);
    if (absl::IsUnavailable(status)) last = status;
  };
  Uploader uploader(options_, callbacks_, *spool_, connector_, RealClock());
  uploader.Start();
  EXPECT_TRUE(Await([&] {
    MutexLock lock(mu);
    return !last.ok();
  }));
  const MonoTime before = RealClock().Mono();
  uploader.Stop(absl::Seconds(30));
  EXPECT_LT(RealClock().Mono() - before, absl::Seconds(5));
}

}  // namespace
}  // namespace fleetmark::agent
