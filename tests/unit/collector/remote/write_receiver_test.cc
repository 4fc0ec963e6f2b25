#include "collector/remote/write_receiver.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/promql/value.h"
#include "collector/remote/write_request.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

class WriteReceiverTest : public testing::Test {
 protected:
  void Add(const std::string& name, const std::string& node, double value, int64_t time_ms) {
    remote::TimeSeries* series = message_.add_timeseries();
    for (const auto& [label, text] : std::vector<std::pair<std::string, std::string>>{
             {"__name__", name}, {"job", "probe"}, {"node", node}}) {
      if (text.empty()) continue;
      remote::Label* added = series->add_labels();
      added->set_name(label);
      added->set_value(text);
    }
    remote::Sample* sample = series->add_samples();
    sample->set_value(value);
    sample->set_timestamp(time_ms);
  }

  HttpResponse Post(std::string body, const std::string& type = "application/x-protobuf") {
    HttpRequest request;
    request.body = std::move(body);
    request.headers = {{"content-type", type}, {"content-encoding", "snappy"}};
    return TakeRemoteWrite(request,
                           [this](const v1::ImportRunsRequest& r) -> absl::StatusOr<v1::ImportRunsResponse> {
                             if (!status_.ok()) return status_;
                             imported_.MergeFrom(r);
                             return v1::ImportRunsResponse();
                           });
  }
  HttpResponse PostMessage() { return Post(SnappyCompress(message_.SerializeAsString())); }

  remote::WriteRequest message_;
  v1::ImportRunsRequest imported_;
  absl::Status status_;
};

TEST_F(WriteReceiverTest, SamplesBecomeRuns) {
  Add("disk_read_bytes_per_second", "n1", 5, 1'790'000'000'000);
  Add("disk_write_bytes_per_second", "n1", 6, 1'790'000'000'000);
  Add("disk_read_bytes_per_second", "n2", 7, 1'790'000'000'000);
  Add("disk_read_bytes_per_second", "n2", promql::kAbsent, 1'790'000'060'000);
  EXPECT_EQ(PostMessage().status, 204);
  ASSERT_EQ(imported_.runs_size(), 2);
  EXPECT_EQ(imported_.runs(0).node(), "n1");
  EXPECT_EQ(imported_.runs(0).run().benchmark(), "probe");
  ASSERT_EQ(imported_.runs(0).run().metrics_size(), 2);
  EXPECT_EQ(imported_.runs(0).run().metrics(0).unit(), "B/s");
  EXPECT_EQ(imported_.runs(0).run().metrics(0).value(), 5);
}

TEST_F(WriteReceiverTest, BadSamplesAreToldAndTheRestIsTaken) {
  Add("good", "n1", 5, 1'790'000'000'000);
  Add("without_node", "", 5, 1'790'000'000'000);
  Add("not_finite", "n1", std::numeric_limits<double>::infinity(), 1'790'000'000'001);
  Add("long_ago", "n1", 5, -7);
  const HttpResponse answer = PostMessage();
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("3 samples were not taken"));
  EXPECT_THAT(answer.body, HasSubstr("without_node: has neither a label node"));
  EXPECT_EQ(imported_.runs_size(), 1);
}

TEST_F(WriteReceiverTest, TriedAgainOnlyWhereThatHelps) {
  Add("good", "n1", 5, 1'790'000'000'000);
  status_ = absl::ResourceExhaustedError("full");
  EXPECT_EQ(PostMessage().status, 429);
  status_ = absl::UnavailableError("stopping");
  EXPECT_EQ(PostMessage().status, 503);
}

TEST_F(WriteReceiverTest, WhatIsNoRemoteWriteIsRefused) {
  EXPECT_EQ(Post("garbage").status, 400);
  EXPECT_EQ(Post(SnappyCompress("garbage")).status, 400);
  EXPECT_EQ(Post(SnappyCompress(message_.SerializeAsString()), "application/json").status, 400);
  EXPECT_EQ(Post("\xff\xff\xff\xff\x0f").status, 400);
}

}  // namespace
}  // namespace fleetmark::collector
