// The store's bytes: these are on people's disks, so an expectation here changes only with a new version.
#include <limits>
#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "collector/store/keys.h"
#include "collector/store/sample_codec.h"
#include "collector/store/values.h"

namespace fleetmark::collector {
namespace {

constexpr char kUlid[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";  // the example of the ULID specification
constexpr char kUlidHex[] = "01563e3ab5d3d6764c61efb99302bd5b";

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

TEST(Keys, Golden) {
  const UlidBytes id = *UlidFromText(kUlid);
  EXPECT_EQ(Hex(UlidKey(id)), kUlidHex);
  EXPECT_EQ(Hex(SeriesIdKey(258)), "0000000000000102");
  EXPECT_EQ(Hex(EncodeTimeKey({1, id})), std::string("8000000000000001") + kUlidHex);
  EXPECT_EQ(Hex(EncodeTimeKey({-1, id})), std::string("7fffffffffffffff") + kUlidHex);
  EXPECT_EQ(Hex(EncodeSampleKey({2, 1, id})), std::string("00000000000000028000000000000001") + kUlidHex);
  EXPECT_EQ(Hex(EncodeNodeTimeKey("n1", {1, id})), std::string("6e31008000000000000001") + kUlidHex);
  EXPECT_EQ(Hex(EncodeNodeUlidKey("n1", id)), std::string("6e3100") + kUlidHex);
  EXPECT_EQ(Hex(SenderKey("n1", "ab")), "6e31006162");
}

TEST(Keys, ParseGivesBackWhatWasEncoded) {
  const UlidBytes id = *UlidFromText(kUlid);
  const auto sample = ParseSampleKey(EncodeSampleKey({7, -5, id}));
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->series_id, 7u);
  EXPECT_EQ(sample->time_unix_ns, -5);
  EXPECT_EQ(sample->run, id);
  const auto time = ParseTimeKey(EncodeTimeKey({std::numeric_limits<int64_t>::max(), id}));
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->time_unix_ns, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseSeriesIdKey(SeriesIdKey(99)), 99u);
  EXPECT_FALSE(ParseSampleKey("short").has_value());
  EXPECT_FALSE(ParseTimeKey("").has_value());
  EXPECT_FALSE(ParseSeriesIdKey("123456789").has_value());
}

TEST(Keys, BytesSortAsTimesDo) {
  const UlidBytes id{};
  const int64_t times[] = {std::numeric_limits<int64_t>::min(), -1, 0, 1, 255, 256,
                           std::numeric_limits<int64_t>::max()};
  for (size_t i = 1; i < std::size(times); ++i) {
    EXPECT_LT(EncodeTimeKey({times[i - 1], id}), EncodeTimeKey({times[i], id})) << times[i];
  }
}

TEST(Keys, UlidTextAndBytesAreTheSame) {
  for (const char* text : {kUlid, "00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}) {
    const auto bytes = UlidFromText(text);
    ASSERT_TRUE(bytes.has_value()) << text;
    EXPECT_EQ(UlidToText(*bytes), text);
  }
  EXPECT_FALSE(UlidFromText("8ZZZZZZZZZZZZZZZZZZZZZZZZZ").has_value());
  EXPECT_FALSE(UlidFromText("short").has_value());
  EXPECT_EQ(UlidUnixNs(*UlidFromText(kUlid)), 1469922850259 * 1'000'000);
}

TEST(Keys, PrefixEndIsAboveAllOfThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd(std::string("a\0", 2)), std::string("a\x01", 2));
  EXPECT_EQ(PrefixEnd("a\xFF"), "b");
  EXPECT_EQ(PrefixEnd("\xFF"), "");
}

TEST(Values, Golden) {
  EXPECT_EQ(Hex(EncodeNumber(258)), "010000000000000102");
  EXPECT_EQ(Hex(EncodeBytes("ab")), "016162");
  EXPECT_EQ(Hex(EncodeSampleValue(1.5, 0)), "013ff8000000000000");
  EXPECT_EQ(Hex(EncodeSampleValue(1.5, 0.25)), "013ff80000000000003fd0000000000000");
  EXPECT_EQ(Hex(EncodeSeriesStats({1, 2, 3, 1.5})),
            "010000000000000001000000000000000200000000000000033ff8000000000000");
  EXPECT_EQ(Hex(EncodeRunSummary({v1::OUTCOME_FAILED, "n", "b"})), "01026e0062");
  EXPECT_EQ(Hex(EncodeRunPlace({1, "n"})), "0180000000000000016e");
  Counters counters;
  counters.runs = 5;
  counters.runs_by_outcome[v1::OUTCOME_OK] = 5;
  const std::string zero(16, '0');
  EXPECT_EQ(Hex(EncodeCounters(counters)), "01" + std::string("0000000000000001") + zero + zero +
                                               "0000000000000005" + zero + zero + zero + zero +
                                               "0000000000000005" + zero + zero + zero + zero + zero);
}

TEST(Values, RoundTrip) {
  SeriesStats stats;
  stats.Add(10, 1);
  stats.Add(5, 2);  // late
  EXPECT_EQ(stats, (SeriesStats{2, 5, 10, 1}));
  EXPECT_EQ(*DecodeSeriesStats(EncodeSeriesStats(stats)), stats);
  const auto summary = DecodeRunSummary(EncodeRunSummary({v1::OUTCOME_TIMEOUT, "n1", "b1"}));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->outcome, v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(summary->node, "n1");
  EXPECT_EQ(summary->benchmark, "b1");
  Counters counters;
  counters.next_series_id = 9;
  counters.runs_by_outcome[6] = 3;
  EXPECT_EQ(*DecodeCounters(EncodeCounters(counters)), counters);
  const auto sample = DecodeSample(EncodeSampleKey({1, 2, *UlidFromText(kUlid)}), EncodeSampleValue(3, 0.5));
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->run_id(), kUlid);
  EXPECT_EQ(sample->value(), 3);
  EXPECT_EQ(sample->relative_spread(), 0.5);
}

TEST(Values, DamageAndNewerVersionsAreTold) {
  EXPECT_EQ(DecodeNumber("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeNumber("\x01short").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeNumber("\x02xxxxxxxx").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DecodeRunSummary("\x01\x01no end").status().code(), absl::StatusCode::kDataLoss);
  v1::Run node;
  EXPECT_EQ(DecodeMessage("\x01\xFF\xFF", &node).code(), absl::StatusCode::kDataLoss);
  const std::string key = EncodeSampleKey({});
  EXPECT_EQ(DecodeSample(key, "").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeSample(key, "\x02").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DecodeSample("", EncodeSampleValue(1, 0)).status().code(), absl::StatusCode::kDataLoss);
}

// Counters written before an outcome existed are shorter.
TEST(Values, CountersGrowAtTheEnd) {
  Counters counters;
  counters.runs = 4;
  std::string value = EncodeCounters(counters);
  value.resize(value.size() - 16);
  const auto decoded = DecodeCounters(value);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->runs, 4u);
}

}  // namespace
}  // namespace fleetmark::collector
