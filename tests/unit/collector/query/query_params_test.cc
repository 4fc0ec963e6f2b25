#include "collector/query/query_params.h"

#include "gtest/gtest.h"

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);

absl::Status Fill(const QueryParams& params, google::protobuf::Message* request) {
  return FillRequest(params, kNow, {}, request);
}

TEST(FillRequest, FillsEveryKindOfField) {
  v1::ListFindingsRequest request;
  const absl::Status status = Fill({{"node", "n1"},
                                    {"benchmark", "stream"},
                                    {"label.kernel", "copy"},
                                    {"node_label.rack", "r.1"},
                                    {"node_label.topology/zone.a", "x"},
                                    {"state", "open"},
                                    {"direction", "DIRECTION_WORSE"},
                                    {"from", "-1h"},
                                    {"to", "now"},
                                    {"limit", "12"},
                                    {"page_token", "abc"}},
                                   &request);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(request.selector().node(), "n1");
  EXPECT_EQ(request.selector().benchmark(), "stream");
  EXPECT_EQ(request.selector().labels().at("kernel"), "copy");
  EXPECT_EQ(request.selector().node_labels().at("rack"), "r.1");
  EXPECT_EQ(request.selector().node_labels().at("topology/zone.a"), "x");
  EXPECT_EQ(request.state(), v1::Finding::STATE_OPEN);
  EXPECT_EQ(request.direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(request.range().from_unix_ns(), absl::ToUnixNanos(kNow - absl::Hours(1)));
  EXPECT_EQ(request.range().to_unix_ns(), absl::ToUnixNanos(kNow));
  EXPECT_EQ(request.limit(), 12u);
  EXPECT_EQ(request.page_token(), "abc");
}

TEST(FillRequest, ListsHaveCommas) {
  v1::ReadQuantilesRequest request;
  const absl::Status status =
      Fill({{"by", "class,label.kernel"}, {"quantiles", "0.5, 0.99"}, {"step_seconds", "3600.5"}}, &request);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(request.by_size(), 2);
  EXPECT_EQ(request.by(0), "class");
  EXPECT_EQ(request.by(1), "label.kernel");
  ASSERT_EQ(request.quantiles_size(), 2);
  EXPECT_EQ(request.quantiles(1), 0.99);
  EXPECT_EQ(request.step_seconds(), 3600.5);
  EXPECT_FALSE(Fill({{"quantiles", "0.5,half"}}, &request).ok());
  EXPECT_FALSE(Fill({{"step_seconds", "an hour"}}, &request).ok());
}

TEST(FillRequest, ReservedFieldsAreNoParameters) {
  v1::ReadSamplesRequest request;
  EXPECT_TRUE(FillRequest({{"newest", "true"}}, kNow, {"series_id"}, &request).ok());
  EXPECT_TRUE(request.newest());
  EXPECT_FALSE(FillRequest({{"series_id", "5"}}, kNow, {"series_id"}, &request).ok());
}

TEST(FillRequest, ErrorsNameTheParameter) {
  const struct {
    QueryParams params;
    std::string part;
  } cases[] = {
      {{{"benchmrak", "x"}}, "did you mean 'benchmark'?"},
      {{{"limit", "many"}}, "limit: 'many' is not a whole number"},
      {{{"limit", "-1"}}, "limit"},
      {{{"limit", "1"}, {"limit", "2"}}, "limit is given twice"},
      {{{"outcome", "good"}}, "one of ok, failed, invalid, timeout, skipped, cancelled"},
      {{{"from", "yesterday"}}, "from: 'yesterday' is not a time"},
      {{{"from", "-1x"}}, "from: "},
      {{{"node", "\xff"}}, "node is not UTF-8"},
      {{{"label.x", "y"}}, "unknown parameter 'label.x'"},
      {{{"range", "1"}}, "unknown parameter 'range'"},
      {{{"\xff\xfe", "1"}}, "unknown parameter"},
  };
  for (const auto& c : cases) {
    v1::ListRunsRequest request;
    const absl::Status status = Fill(c.params, &request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(c.part), absl::string_view::npos) << status;
  }
}

TEST(FillRequest, LabelsNeedAName) {
  v1::ListSeriesRequest request;
  EXPECT_FALSE(Fill({{"label.", "x"}}, &request).ok());
  EXPECT_FALSE(Fill({{"label", "x"}}, &request).ok());
  EXPECT_FALSE(Fill({{"labels", "x"}}, &request).ok());
}

TEST(ParseTimeParameter, AllForms) {
  const auto nanos = [](std::string_view text) { return *ParseTimeParameter(text, kNow); };
  EXPECT_EQ(nanos("1790000000"), 1'790'000'000'000'000'000);
  EXPECT_EQ(nanos("1790000000.5"), 1'790'000'000'500'000'000);
  EXPECT_EQ(nanos("2026-09-21T13:33:20Z"), absl::ToUnixNanos(absl::FromUnixSeconds(1'789'997'600)));
  EXPECT_EQ(nanos("2026-09-21T15:33:20+02:00"), nanos("2026-09-21T13:33:20Z"));
  EXPECT_EQ(nanos("1970-01-02"), 86'400'000'000'000);
  EXPECT_EQ(nanos("-24h"), absl::ToUnixNanos(kNow - absl::Hours(24)));
  EXPECT_EQ(nanos("now"), absl::ToUnixNanos(kNow));
  for (const char* bad :
       {"", "x", "-", "1e300", "nan", "inf", "infinite-future", "-1000000d", "1960-01-01"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTimeParameter(bad, kNow).status())) << bad;
  }
}

}  // namespace
}  // namespace fleetmark::collector
