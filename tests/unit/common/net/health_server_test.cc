// The health server on a real address.
#include "common/net/health_server.h"

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"

#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetmark {
namespace {

namespace proto = grpc::health::v1;
using Response = proto::HealthCheckResponse;

std::unique_ptr<proto::Health::Stub> StubTo(int port) {
  return proto::Health::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
}

TEST(HealthServer, AnswersOnItsAddressUntilItStops) {
  auto server = HealthServer::Start({"127.0.0.1", 0}, {{"", [] { return true; }}}, RealClock());
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_GT((*server)->port(), 0);
  const auto stub = StubTo((*server)->port());
  Response response;
  {
    grpc::ClientContext context;
    const grpc::Status status = stub->Check(&context, {}, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.status(), Response::SERVING);
  }
  grpc::ClientContext watching;
  const auto watch = stub->Watch(&watching, {});
  ASSERT_TRUE(watch->Read(&response));
  (*server)->Stop();
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), Response::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  grpc::ClientContext after;
  EXPECT_EQ(stub->Check(&after, {}, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(HealthServer, AnAddressInUseIsUnavailable) {
  const auto first = HealthServer::Start({"127.0.0.1", 0}, {}, RealClock());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = HealthServer::Start({"127.0.0.1", (*first)->port()}, {}, RealClock());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

TEST(HealthServer, ARequestThatIsTooLargeIsRefused) {
  auto server = HealthServer::Start({"127.0.0.1", 0}, {{"", [] { return true; }}}, RealClock());
  ASSERT_TRUE(server.ok()) << server.status();
  grpc::ClientContext context;
  proto::HealthCheckRequest request;
  request.set_service(std::string(5000, 'x'));
  Response response;
  EXPECT_EQ(StubTo((*server)->port())->Check(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace fleetmark
