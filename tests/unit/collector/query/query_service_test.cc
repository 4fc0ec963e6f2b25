#include "collector/query/query_service.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include "collector/query/query_api.h"
#include "common/base/clock.h"
#include "fleetmark/v1/fleet.grpc.pb.h"
#include "store_fixture.h"

namespace fleetmark::collector {
namespace {

class QueryServiceTest : public StoreFixture {
 protected:
  QueryServiceTest() {
    QueryCallbacks callbacks;
    callbacks.run_now = [this](const v1::RunNowRequest& request,
                               RunFollower follower) -> absl::StatusOr<std::string> {
      if (request.node() != "n1") return absl::UnavailableError("not connected");
      started_.set_value(std::move(follower));
      return std::string("request1");
    };
    callbacks.unfollow = [this](const std::string& id) { unfollowed_.set_value(id); };
    api_ = std::make_unique<QueryApi>(QueryApi::Options{store_.get(), &RealClock(), "1.2.3", callbacks});
    QueryService::Options options;
    options.api = api_.get();
    service_ = std::make_unique<QueryService>(options);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    stub_ = v1::FleetService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  }
  ~QueryServiceTest() override { server_->Shutdown(); }

  v1::RunNowRequest RunRequest(const std::string& node) {
    v1::RunNowRequest request;
    request.set_node(node);
    request.set_benchmark("stream");
    return request;
  }

  std::unique_ptr<QueryApi> api_;
  std::unique_ptr<QueryService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::FleetService::Stub> stub_;
  std::promise<RunFollower> started_;
  std::promise<std::string> unfollowed_;
};

v1::RunProgress Progress(v1::RunProgress::State state, double fraction) {
  v1::RunProgress progress;
  progress.set_state(state);
  progress.set_fraction(fraction);
  return progress;
}

TEST_F(QueryServiceTest, AnswersAndErrorsCross) {
  AddNode("n1", "r1");
  AddRuns("n1", "stream", {1, 2});
  grpc::ClientContext context;
  v1::GetStatusResponse status;
  ASSERT_TRUE(stub_->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.runs(), 2u);
  grpc::ClientContext list_context;
  v1::ListSeriesResponse series;
  ASSERT_TRUE(stub_->ListSeries(&list_context, {}, &series).ok());
  EXPECT_EQ(series.series_size(), 1);
  grpc::ClientContext bad_context;
  v1::GetRunResponse run;
  EXPECT_EQ(stub_->GetRun(&bad_context, {}, &run).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(QueryServiceTest, RunNowStreamsUntilTheEnd) {
  grpc::ClientContext context;
  auto reader = stub_->RunNow(&context, RunRequest("n1"));
  const RunFollower follower = started_.get_future().get();
  follower.on_progress(Progress(v1::RunProgress::STATE_RUNNING, 0.5));
  follower.on_progress(Progress(v1::RunProgress::STATE_FINISHED, 1));
  follower.on_end(absl::OkStatus());
  v1::RunProgress progress;
  std::vector<double> fractions;
  while (reader->Read(&progress)) fractions.push_back(progress.fraction());
  EXPECT_EQ(fractions, (std::vector<double>{0.5, 1}));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(QueryServiceTest, ASlowReaderMissesTheMiddleNotTheEnd) {
  grpc::ClientContext context;
  auto reader = stub_->RunNow(&context, RunRequest("n1"));
  const RunFollower follower = started_.get_future().get();
  const std::string message(10'000, 'x');  // more in all than the connection's own buffers hold
  for (int i = 0; i < 5000; ++i) {
    v1::RunProgress progress = Progress(v1::RunProgress::STATE_RUNNING, i / 5000.0);
    progress.set_message(message);
    follower.on_progress(progress);
  }
  follower.on_progress(Progress(v1::RunProgress::STATE_FINISHED, 1));
  follower.on_end(absl::OkStatus());
  v1::RunProgress progress;
  int count = 0;
  while (reader->Read(&progress)) ++count;
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_LT(count, 5000);
  EXPECT_EQ(progress.state(), v1::RunProgress::STATE_FINISHED);
}

TEST_F(QueryServiceTest, RunNowEndsWithTheReason) {
  grpc::ClientContext context;
  auto refused = stub_->RunNow(&context, RunRequest("n2"));
  v1::RunProgress progress;
  EXPECT_FALSE(refused->Read(&progress));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext gone_context;
  auto gone = stub_->RunNow(&gone_context, RunRequest("n1"));
  started_.get_future().get().on_end(absl::UnavailableError("the agent has gone away"));
  EXPECT_FALSE(gone->Read(&progress));
  EXPECT_EQ(gone->Finish().error_message(), "the agent has gone away");
}

TEST_F(QueryServiceTest, ACallerThatLeavesUnfollowsTheRun) {
  grpc::ClientContext context;
  auto reader = stub_->RunNow(&context, RunRequest("n1"));
  const RunFollower follower = started_.get_future().get();
  context.TryCancel();
  EXPECT_EQ(unfollowed_.get_future().get(), "request1");
  follower.on_progress(Progress(v1::RunProgress::STATE_RUNNING, 0.5));  // too late, and harmless
  follower.on_end(absl::OkStatus());
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace fleetmark::collector
