// The health service behind a real in-process channel; time is the test's.
#include "common/net/health_service.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark {
namespace {

namespace proto = grpc::health::v1;
using Response = proto::HealthCheckResponse;

class HealthServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HealthService::Options options;
    options.states = {{"", [this] { return well_.load(); }}, {"reads", [] { return true; }}};
    options.max_watches = 3;
    health_ = std::make_unique<HealthService>(std::move(options), clock_);
    grpc::ServerBuilder builder;
    builder.RegisterService(health_->service());
    server_ = builder.BuildAndStart();
    stub_ = proto::Health::NewStub(server_->InProcessChannel({}));
  }

  void TearDown() override {
    health_->Stop();
    server_->Shutdown();
  }

  grpc::Status Check(const std::string& service, Response* response) {
    grpc::ClientContext context;
    proto::HealthCheckRequest request;
    request.set_service(service);
    return stub_->Check(&context, request, response);
  }

  Response::ServingStatus State(const std::string& service) {
    Response response;
    const grpc::Status status = Check(service, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }

  // A watch, cancelled when it goes.
  struct Watch {
    ~Watch() { context.TryCancel(); }
    Response::ServingStatus Next() {
      Response response;
      return reader->Read(&response) ? response.status() : Response::UNKNOWN;
    }
    grpc::Status End() {
      Response response;
      while (reader->Read(&response)) continue;
      return reader->Finish();
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<Response>> reader;
  };

  std::unique_ptr<Watch> StartWatch(const std::string& service) {
    auto watch = std::make_unique<Watch>();
    proto::HealthCheckRequest request;
    request.set_service(service);
    watch->reader = stub_->Watch(&watch->context, request);
    return watch;
  }

  // The service's thread looks at the states once more.
  void LookAgain() {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(1));
    clock_.AwaitWaiters(1);
  }

  FakeClock clock_;
  std::atomic<bool> well_ = true;
  std::unique_ptr<HealthService> health_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<proto::Health::Stub> stub_;
};

TEST_F(HealthServiceTest, CheckTellsTheStateOfNow) {
  EXPECT_EQ(State(""), Response::SERVING);
  well_ = false;
  EXPECT_EQ(State(""), Response::NOT_SERVING);
  EXPECT_EQ(State("reads"), Response::SERVING);
}

TEST_F(HealthServiceTest, CheckOfAnUnknownServiceIsNotFound) {
  Response response;
  EXPECT_EQ(Check("writes", &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthServiceTest, WatchTellsTheStateAndEachChange) {
  auto watch = StartWatch("");
  EXPECT_EQ(watch->Next(), Response::SERVING);
  LookAgain();
  well_ = false;
  LookAgain();
  EXPECT_EQ(watch->Next(), Response::NOT_SERVING) << "a state that stays is not told again";
  well_ = true;
  LookAgain();
  EXPECT_EQ(watch->Next(), Response::SERVING);
}

TEST_F(HealthServiceTest, WatchOfAnUnknownServiceStaysOpenAndSaysSo) {
  auto watch = StartWatch("writes");
  EXPECT_EQ(watch->Next(), Response::SERVICE_UNKNOWN);
  LookAgain();
  health_->Stop();
  EXPECT_EQ(watch->Next(), Response::NOT_SERVING);
}

TEST_F(HealthServiceTest, StopTellsWatchersAndEndsTheirStreams) {
  auto watch = StartWatch("reads");
  EXPECT_EQ(watch->Next(), Response::SERVING);
  health_->Stop();
  EXPECT_EQ(watch->Next(), Response::NOT_SERVING);
  EXPECT_EQ(watch->End().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(State("reads"), Response::NOT_SERVING);
  auto late = StartWatch("reads");
  EXPECT_EQ(late->Next(), Response::NOT_SERVING);
  EXPECT_EQ(late->End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HealthServiceTest, WatchesAreBoundedAndAPlaceIsFreeAgainWhenAWatcherGoes) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 3; ++i) {
    watches.push_back(StartWatch(""));
    EXPECT_EQ(watches.back()->Next(), Response::SERVING);
  }
  EXPECT_EQ(StartWatch("")->End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  watches.pop_back();
  // The server hears of it in its own time.
  Response::ServingStatus first = Response::UNKNOWN;
  while (first != Response::SERVING) first = StartWatch("")->Next();
}

TEST_F(HealthServiceTest, NobodyLooksWhileNobodyWatches) {
  EXPECT_EQ(State(""), Response::SERVING);
  EXPECT_EQ(clock_.NextDeadline(), MonoTime::InfiniteFuture());
  auto watch = StartWatch("");
  EXPECT_EQ(watch->Next(), Response::SERVING);
  clock_.AwaitWaiters(1);
  EXPECT_LE(clock_.NextDeadline(), clock_.Mono() + absl::Seconds(1));
}

}  // namespace
}  // namespace fleetmark
