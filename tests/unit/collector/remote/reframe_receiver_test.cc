#include "collector/remote/reframe_receiver.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

class ReframeReceiverTest : public testing::Test {
 protected:
  HttpResponse Post(std::string body, const std::string& type = "application/json") {
    HttpRequest request;
    request.body = std::move(body);
    request.headers = {{"content-type", type}};
    return TakeReframeRecord(
        request, [this](const v1::ImportRunsRequest& r) -> absl::StatusOr<v1::ImportRunsResponse> {
          if (!status_.ok()) return status_;
          imported_.MergeFrom(r);
          return v1::ImportRunsResponse();
        });
  }

  static std::string Record(const std::string& more) {
    return R"({"check_name":"Bw","check_display_name":"Bw %n=4","check_system":"sys","check_partition":"cpu",)"
           R"("check_environ":"gnu","check_job_nodelist":["n01"],"check_job_completion_time_unix":1772619072.5,)"
           R"("check_job_exitcode":0,)" +
           more + "}";
  }

  v1::ImportRunsRequest imported_;
  absl::Status status_;
};

TEST_F(ReframeReceiverTest, ARecordBecomesARunOfItsNode) {
  const HttpResponse answer = Post(Record(
      R"("check_result":"pass","check_perf_bw_value":99.5,"check_perf_bw_unit":"MB/s","check_perf_bw_ref":100,)"
      R"("check_perf_bw_lower_thres":-0.1,"check_perf_bw_upper_thres":null)"));
  EXPECT_EQ(answer.status, 204) << answer.body;
  ASSERT_EQ(imported_.runs_size(), 1);
  EXPECT_EQ(imported_.runs(0).node(), "n01");
  const v1::Run& run = imported_.runs(0).run();
  EXPECT_EQ(run.benchmark(), "Bw");
  EXPECT_EQ(run.started_unix_ns(), 1'772'619'072'500'000'000);
  ASSERT_EQ(run.metrics_size(), 1);
  EXPECT_EQ(run.metrics(0).name(), "bw");
  EXPECT_EQ(run.metrics(0).value(), 99.5);
  EXPECT_EQ(run.metrics(0).better(), v1::BETTER_HIGHER);
  EXPECT_EQ(run.metrics(0).labels().at("parameters"), "n=4");
}

TEST_F(ReframeReceiverTest, TheMultilineFormIsReadAndASecondPostIsTheSameRun) {
  const std::string body =
      Record(R"("check_result":"pass","check_perf_var":"lat","check_perf_value":2.5,"check_perf_unit":"us",)"
             R"("check_perf_ref":2.0,"check_perf_lower_thres":null,"check_perf_upper_thres":0.5)");
  EXPECT_EQ(Post(body).status, 204);
  EXPECT_EQ(Post(body).status, 204);
  ASSERT_EQ(imported_.runs_size(), 2);
  EXPECT_EQ(imported_.runs(0).run().metrics(0).name(), "lat");
  EXPECT_EQ(imported_.runs(0).run().run_id(), imported_.runs(1).run().run_id());
}

TEST_F(ReframeReceiverTest, WhatFailedWithoutAValueIsTakenAndNothingIsStored) {
  EXPECT_EQ(Post(Record(R"("check_result":"fail","check_perf_bw_value":null)")).status, 204);
  EXPECT_EQ(imported_.runs_size(), 0);
}

TEST_F(ReframeReceiverTest, NumbersOfAJobThatEndedBadlyAreNotStored) {
  const std::string bad = R"({"check_name":"Bw","check_system":"s","check_job_nodelist":["n01"],)"
                          R"("check_job_completion_time_unix":1772619072,"check_job_exitcode":3,)"
                          R"("check_result":"pass","check_perf_bw_value":99.5,"check_perf_bw_unit":"MB/s"})";
  EXPECT_EQ(Post(bad).status, 204);
  EXPECT_EQ(imported_.runs_size(), 0);
}

TEST_F(ReframeReceiverTest, BareNanDoesNotCostTheOtherMetrics) {
  EXPECT_EQ(Post(Record(R"("check_result":"fail","check_perf_a_value":NaN,"check_perf_b_value":1.5)")).status,
            204);
  ASSERT_EQ(imported_.runs_size(), 1);
  EXPECT_EQ(imported_.runs(0).run().metrics(0).name(), "b");
}

TEST_F(ReframeReceiverTest, WhatIsNoRecordIsRefusedInPlainWords) {
  EXPECT_EQ(Post("check_result").status, 400);
  EXPECT_THAT(Post("check_result").body, HasSubstr("no JSON object"));
  EXPECT_EQ(Post(R"({"check_result":"pass")").status, 400);
  EXPECT_THAT(Post(R"({"a":1})").body, HasSubstr("'runs'"));
  EXPECT_THAT(Post(Record(R"("check_result":"pass")"), "text/plain").body, HasSubstr("application/json"));
  const HttpResponse no_time = Post(R"({"check_name":"Bw","check_system":"s","check_result":"pass",)"
                                    R"("check_perf_bw_value":1})");
  EXPECT_EQ(no_time.status, 400);
  EXPECT_THAT(no_time.body, HasSubstr("no time"));
}

TEST_F(ReframeReceiverTest, ABusyCollectorAsksForAnotherTryAsReframeUnderstandsIt) {
  const std::string body = Record(R"("check_result":"pass","check_perf_bw_value":1)");
  status_ = absl::UnavailableError("stopping");
  EXPECT_EQ(Post(body).status, 429);
  status_ = absl::ResourceExhaustedError("busy");
  EXPECT_EQ(Post(body).status, 429);
  status_ = absl::DataLossError("disk");
  EXPECT_EQ(Post(body).status, 500);
}

}  // namespace
}  // namespace fleetmark::collector
