// The agents' service over a real loopback server, with a client that sends what it likes.
#include "collector/ingest/ingest_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include "common/model/limits.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// One stream, read and written by the test's thread.
class Client {
 public:
  explicit Client(v1::AgentService::Stub& stub) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub.Connect(&context_);
  }
  ~Client() {
    context_.TryCancel();
    if (stream_ != nullptr) Finish();
  }

  bool Send(const v1::AgentMessage& message) { return stream_->Write(message); }
  bool SendHello(const std::string& node, const std::string& boot_id = "b1") {
    v1::AgentMessage message;
    message.mutable_hello()->set_protocol(1);
    message.mutable_hello()->mutable_node()->set_name(node);
    message.mutable_hello()->set_epoch(kEpoch);
    message.mutable_hello()->set_agent_version("0.1.0");
    message.mutable_hello()->set_boot_id(boot_id);
    return Send(message);
  }
  bool SendRecords(std::vector<v1::Record> records) {
    v1::AgentMessage message;
    for (v1::Record& record : records) *message.mutable_records()->add_records() = std::move(record);
    return Send(message);
  }
  // Empty when the stream has ended.
  std::optional<v1::CollectorMessage> Read() {
    v1::CollectorMessage message;
    if (!stream_->Read(&message)) return std::nullopt;
    return message;
  }
  // Sends hello and gives what is durable for this sender.
  uint64_t Join(const std::string& node) {
    EXPECT_TRUE(SendHello(node));
    const auto message = Read();
    EXPECT_TRUE(message.has_value() && message->has_welcome());
    return message.has_value() ? message->welcome().acked_sequence() : 0;
  }
  // Reads until `sequence` is acknowledged; all refusals on the way.
  std::vector<v1::Refusal> AwaitAck(uint64_t sequence) {
    std::vector<v1::Refusal> refused;
    for (;;) {
      const auto message = Read();
      if (!message.has_value()) {
        ADD_FAILURE() << "the stream ended before " << sequence << " was acknowledged";
        return refused;
      }
      refused.insert(refused.end(), message->ack().refused().begin(), message->ack().refused().end());
      if (message->ack().sequence() >= sequence) return refused;
    }
  }
  void CloseWrites() { stream_->WritesDone(); }
  grpc::Status Finish() {
    while (Read().has_value()) {
    }
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    return status;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>> stream_;
};

class IngestServiceTest : public ::testing::Test {
 protected:
  IngestServiceTest() : clock_(absl::FromUnixNanos(kStartNs) + absl::Hours(1)) {}
  ~IngestServiceTest() override { Shutdown(absl::Seconds(5)); }

  void Start(IngestService::Options options = {}, Store::Options store_options = {}) {
    store_options.folder = folder_.path() + "/store";
    auto store = Store::Open(store_options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    committer_ = std::make_unique<Committer>(
        Committer::Options{},
        [this](absl::Span<const SenderRecords> batch) -> absl::StatusOr<CommitResult> {
          MutexLock lock(mu_);
          if (!store_error_.ok()) return store_error_;
          return store_->Commit(batch);
        },
        nullptr, clock_, metrics_);
    if (leases_ == nullptr) leases_ = std::make_unique<LeaseTable>(LeaseTable::Options{}, registry_, clock_);
    options.collector_version = "test";
    service_ = std::make_unique<IngestService>(std::move(options), *store_, *committer_, sessions_, *leases_,
                                               plans_, metrics_, clock_);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytes));
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    stub_ = v1::AgentService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  }

  void Shutdown(absl::Duration grace) {
    if (server_ == nullptr) return;
    service_->Stop();
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
    committer_->Stop();
    server_.reset();
  }

  void SetStoreError(absl::Status status) {
    MutexLock lock(mu_);
    store_error_ = std::move(status);
  }

  uint64_t Runs() { return store_->Counts()->runs; }

  TempFolder folder_;
  FakeClock clock_;
  Metrics registry_;
  IngestMetrics metrics_{registry_};
  Sessions sessions_{{}, clock_};
  PlanBook plans_{{}};
  std::unique_ptr<LeaseTable> leases_;
  Mutex mu_;
  absl::Status store_error_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Store> store_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<IngestService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
};

TEST_F(IngestServiceTest, StoresAndAcknowledges) {
  Start();
  Client client(*stub_);
  EXPECT_EQ(client.Join("n1"), 0u);
  for (uint64_t i = 1; i <= 50; ++i)
    ASSERT_TRUE(client.SendRecords({RunRecord(2 * i - 1), RunRecord(2 * i)}));
  client.AwaitAck(100);
  EXPECT_EQ(Runs(), 100u);
  client.CloseWrites();
  EXPECT_TRUE(client.Finish().ok());
  const auto node = store_->GetNode("n1");
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->agent_version(), "0.1.0");
  EXPECT_NEAR(node->clock_offset_seconds(), -absl::ToDoubleSeconds(clock_.Now() - absl::UnixEpoch()), 1);
}

TEST_F(IngestServiceTest, ResendsGapsAndResumeStoreEachRunOnce) {
  Start();
  const std::vector<v1::Record> records = {RunRecord(1), RunRecord(2), RunRecord(7)};  // 3 to 6 were dropped
  {
    Client client(*stub_);
    client.Join("n1");
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.SendRecords(records));
    client.AwaitAck(7);
  }
  Client client(*stub_);
  EXPECT_EQ(client.Join("n1"), 7u);
  ASSERT_TRUE(client.SendRecords({records[2], RunRecord(8)}));
  client.AwaitAck(8);
  EXPECT_EQ(Runs(), 4u);
}

TEST_F(IngestServiceTest, RefusedRecordsAreNamedAndTheOthersStored) {
  Start();
  Client client(*stub_);
  client.Join("n1");
  v1::Run bad = MakeRun(kStartNs);
  bad.mutable_metrics(0)->set_unit("furlong");
  ASSERT_TRUE(client.SendRecords({RunRecord(1), RunRecord(2, bad)}));
  const auto refused = client.AwaitAck(2);
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].sequence(), 2u);
  EXPECT_THAT(refused[0].reason(), HasSubstr("furlong"));
  ASSERT_TRUE(client.SendRecords({RunRecord(3, bad)}));  // nothing but a bad one
  EXPECT_THAT(client.AwaitAck(3), SizeIs(1));
  EXPECT_EQ(Runs(), 1u);
  EXPECT_THAT(registry_.Serialize(),
              HasSubstr("fleetmark_ingest_records_refused_total{reason=\"invalid\"} 2"));
}

TEST_F(IngestServiceTest, BreachesOfTheContractEndTheStream) {
  Start();
  {
    Client client(*stub_);
    client.SendRecords({RunRecord(1)});  // no hello
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    Client client(*stub_);
    client.SendHello("not a host");
    const grpc::Status status = client.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("node name"));
  }
  {
    Client client(*stub_);
    client.Join("n1");
    client.SendHello("n1");
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    Client client(*stub_);
    client.Join("n1");
    client.SendRecords({RunRecord(2), RunRecord(1)});
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    Client client(*stub_);
    client.Join("n1");
    v1::Record large = RunRecord(1);
    large.mutable_run()->set_reason(std::string(limits::kMessageBytes, 'x'));
    client.SendRecords({large});
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(Runs(), 0u);
}

TEST_F(IngestServiceTest, ASecondAgentTakesTheNodeOver) {
  Start();
  Client first(*stub_);
  first.Join("n1");
  Client second(*stub_);
  second.Join("n1");
  EXPECT_EQ(first.Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ASSERT_TRUE(second.SendRecords({RunRecord(1)}));
  second.AwaitAck(1);
  EXPECT_EQ(sessions_.connected(), 1u);
}

TEST_F(IngestServiceTest, WhenTheStoreRefusesTheAgentPausesAndResumes) {
  Start();
  {
    Client client(*stub_);
    client.Join("n1");
    ASSERT_TRUE(client.SendRecords({RunRecord(1)}));
    client.AwaitAck(1);
    SetStoreError(absl::ResourceExhaustedError("disk full"));
    ASSERT_TRUE(client.SendRecords({RunRecord(2)}));
    const auto message = client.Read();
    ASSERT_TRUE(message.has_value() && message->has_pause());
    EXPECT_EQ(message->pause().seconds(), 10);
    EXPECT_THAT(message->pause().reason(), HasSubstr("disk full"));
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  SetStoreError(absl::OkStatus());
  Client client(*stub_);
  EXPECT_EQ(client.Join("n1"), 1u);
  ASSERT_TRUE(client.SendRecords({RunRecord(2)}));
  client.AwaitAck(2);
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(IngestServiceTest, RunNowGoesToTheAgentAndProgressComesBack) {
  Start();
  Client client(*stub_);
  client.Join("n1");
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_spool_records(3);
  client.Send(heartbeat);
  v1::RunNowRequest request;
  request.set_node("n1");
  request.set_benchmark("stream");
  Mutex mu;
  CondVar changed;
  std::optional<absl::Status> end;
  double fraction = 0;
  const auto request_id = sessions_.RunNow(request, v1::TRIGGER_MANUAL,
                                           {[&](const v1::RunProgress& progress) {
                                              MutexLock lock(mu);
                                              fraction = progress.fraction();
                                            },
                                            [&](const absl::Status& status) {
                                              MutexLock lock(mu);
                                              end = status;
                                              changed.NotifyAll();
                                            }});
  ASSERT_TRUE(request_id.ok());
  const auto message = client.Read();
  ASSERT_TRUE(message.has_value() && message->has_run_now());
  EXPECT_EQ(message->run_now().request_id(), *request_id);
  v1::AgentMessage progress;
  progress.mutable_progress()->set_request_id(*request_id);
  progress.mutable_progress()->set_state(v1::RunProgress::STATE_FINISHED);
  progress.mutable_progress()->set_fraction(1);
  client.Send(progress);
  {
    MutexLock lock(mu);
    while (!end.has_value()) changed.Wait(mu);
    EXPECT_TRUE(end->ok());
    EXPECT_EQ(fraction, 1);
  }
  v1::Node node;
  node.mutable_identity()->set_name("n1");
  sessions_.FillLive(&node);
  EXPECT_EQ(node.heartbeat().spool_records(), 3u);
}

v1::AgentMessage LeaseRequest(const std::string& id, double seconds = 60) {
  v1::AgentMessage message;
  message.mutable_lease_request()->set_request_id(id);
  message.mutable_lease_request()->set_benchmark("gemm");
  message.mutable_lease_request()->set_duration_seconds(seconds);
  return message;
}

TEST_F(IngestServiceTest, LeasesAreGrantedDeniedAndReleased) {
  LeaseTable::Options limits;
  limits.limits.push_back({"one", {"gemm"}, {}, 1, 0, {}, absl::Minutes(15)});
  leases_ = std::make_unique<LeaseTable>(limits, registry_, clock_);
  clock_.Advance(absl::Minutes(16));
  Start();
  Client first(*stub_);
  first.Join("n1");
  Client second(*stub_);
  second.Join("n2");
  first.Send(LeaseRequest("l1"));
  auto answer = first.Read();
  ASSERT_TRUE(answer.has_value() && answer->has_lease());
  EXPECT_TRUE(answer->lease().granted());
  EXPECT_EQ(answer->lease().request_id(), "l1");
  second.Send(LeaseRequest("l2"));
  answer = second.Read();
  ASSERT_TRUE(answer.has_value() && answer->has_lease());
  EXPECT_FALSE(answer->lease().granted());
  EXPECT_THAT(answer->lease().reason(), HasSubstr("n1 (gemm)"));
  v1::AgentMessage release;
  release.mutable_lease_release()->set_request_id("l1");
  first.Send(release);
  first.Send(LeaseRequest("l3"));  // answered after the release was handled, and behind the one that waits
  answer = first.Read();
  EXPECT_FALSE(answer->lease().granted());
  second.Send(LeaseRequest("l4"));
  answer = second.Read();
  EXPECT_TRUE(answer->lease().granted());
}

// A batch that becomes durable while the next one is being handled must not have a third one read over it.
TEST_F(IngestServiceTest, NoBatchIsLostBetweenOthers) {
  constexpr uint64_t kBatches = 400;
  constexpr uint64_t kRecords = 10;
  IngestService::Options options;
  options.window = 3;
  Store::Options store_options;
  store_options.reserve_bytes = 0;
  Start(std::move(options), store_options);
  std::vector<std::thread> agents;
  for (int agent = 0; agent < 4; ++agent) {
    agents.emplace_back([this, agent] {
      Client client(*stub_);
      client.Join("n" + std::to_string(agent));
      uint64_t sequence = 0;
      for (uint64_t batch = 0; batch < kBatches; ++batch) {
        std::vector<v1::Record> records;
        for (uint64_t i = 0; i < kRecords; ++i) records.push_back(RunRecord(++sequence));
        ASSERT_TRUE(client.SendRecords(std::move(records)));
      }
      client.AwaitAck(sequence);
    });
  }
  for (std::thread& agent : agents) agent.join();
  EXPECT_EQ(Runs(), 4 * kBatches * kRecords);
}

TEST_F(IngestServiceTest, AnAgentThatSendsMoreThanItMayIsReadMoreSlowly) {
  IngestService::Options options;
  options.max_records_per_second = 10;
  Start(std::move(options));
  Client client(*stub_);
  client.Join("n1");
  uint64_t sequence = 0;
  const auto send = [&] {
    std::vector<v1::Record> records;
    for (int i = 0; i < 50; ++i) records.push_back(RunRecord(++sequence));
    ASSERT_TRUE(client.SendRecords(std::move(records)));
  };
  for (int i = 0; i < 4; ++i) send();
  client.AwaitAck(150);  // ten seconds' worth, and the batch that went beyond it
  EXPECT_EQ(Runs(), 150u);
  Client other(*stub_);
  other.Join("n2");
  ASSERT_TRUE(other.SendRecords({RunRecord(1)}));
  other.AwaitAck(1);
  EXPECT_EQ(Runs(), 151u) << "of the agent that has to wait no more was read";
  clock_.Advance(absl::Seconds(5));  // earns the 50 that it is behind
  client.AwaitAck(200);
  EXPECT_EQ(Runs(), 201u);
  EXPECT_GE(metrics_.paced.Value(), 1);
}

TEST_F(IngestServiceTest, AClockThatGoesWrongIsNotedWithItsNode) {
  Start();
  Client client(*stub_);
  client.Join("n1");
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_time_unix_ns(absl::ToUnixNanos(clock_.Now() + absl::Hours(24)));
  client.Send(message);
  client.SendRecords({RunRecord(1, MakeRun(absl::ToUnixNanos(clock_.Now() + absl::Hours(24))))});
  EXPECT_THAT(client.AwaitAck(1),
              SizeIs(0));  // not refused; and the note is before it in the committer's queue
  const auto node = store_->GetNode("n1");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_DOUBLE_EQ(node->clock_offset_seconds(), 86400);
  EXPECT_LE(node->last_run_unix_ns(), absl::ToUnixNanos(clock_.Now()));
  EXPECT_THAT(registry_.Serialize(), HasSubstr("fleetmark_ingest_records_moved_back_total 1"));
}

TEST_F(IngestServiceTest, AWrongLeaseRequestEndsTheStream) {
  Start();
  Client client(*stub_);
  client.Join("n1");
  client.Send(LeaseRequest("l1", -1));
  const grpc::Status status = client.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("duration_seconds"));
}

TEST_F(IngestServiceTest, ThePeerCheckDecides) {
  IngestService::Options options;
  options.check_peer = [](const std::vector<std::string>&, const std::string& node) {
    return node == "n1" ? absl::OkStatus() : absl::PermissionDeniedError("not yours");
  };
  Start(options);
  Client allowed(*stub_);
  allowed.Join("n1");
  Client denied(*stub_);
  denied.SendHello("n2");
  EXPECT_EQ(denied.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(store_->GetNode("n2").ok());
}

TEST_F(IngestServiceTest, StreamsAreBounded) {
  IngestService::Options options;
  options.max_streams = 1;
  Start(options);
  Client first(*stub_);
  first.Join("n1");
  Client second(*stub_);
  EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(IngestServiceTest, ARebootIsAnEvent) {
  Start();
  for (const char* boot : {"b1", "b1", "b2"}) {
    Client client(*stub_);
    client.SendHello("n1", boot);
    ASSERT_TRUE(client.Read().has_value());
  }
  std::string token;
  const auto events = store_->ListEvents({}, Page{}, &token);
  ASSERT_TRUE(events.ok());
  EXPECT_THAT(*events, SizeIs(3));  // started, booted, started
}

// Every record that was acknowledged is stored, also when the collector stops in the middle of a stream.
TEST_F(IngestServiceTest, ShutdownWhileAgentsStream) {
  Start();
  constexpr int kAgents = 3;
  std::atomic<uint64_t> acked_total = 0;
  std::atomic<int> started = 0;
  std::vector<std::thread> agents;
  for (int agent = 0; agent < kAgents; ++agent) {
    agents.emplace_back([&, agent] {
      Client client(*stub_);
      client.Join("n" + std::to_string(agent));
      ++started;
      uint64_t acked = 0;
      for (uint64_t sequence = 1; client.SendRecords({RunRecord(sequence)}); ++sequence) {
        const auto message = client.Read();
        if (!message.has_value()) break;
        acked = std::max(acked, message->ack().sequence());
      }
      acked_total += acked;
      EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    });
  }
  while (started < kAgents || Runs() < 30) std::this_thread::yield();
  Shutdown(absl::Seconds(10));
  for (std::thread& agent : agents) agent.join();
  EXPECT_GE(Runs(), acked_total);
  EXPECT_GE(acked_total, 20u);
  EXPECT_EQ(sessions_.connected(), 0u);
}

// An agent that does not read gets its messages bounded, and does not keep the server from stopping.
TEST_F(IngestServiceTest, AnAgentThatNeverReadsDoesNotHoldUpShutdown) {
  Start();
  Client client(*stub_);
  client.Join("n1");
  v1::RunNowRequest request;
  request.set_node("n1");
  request.set_asked_by(std::string(60'000, 'x'));
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status =
        sessions_
            .RunNow(request, v1::TRIGGER_MANUAL, {[](const v1::RunProgress&) {}, [](const absl::Status&) {}})
            .status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  Shutdown(absl::Milliseconds(200));
  EXPECT_EQ(sessions_.connected(), 0u);
}

}  // namespace
}  // namespace fleetmark::collector
