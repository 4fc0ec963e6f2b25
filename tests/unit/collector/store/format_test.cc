// The store's bytes: these are on people's disks, so an expectation here changes only with a new version.
#include <limits>
#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "collector/store/group_values.h"
#include "collector/store/keys.h"
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
  EXPECT_EQ(Hex(GroupIdKey(258)), "00000102");
  EXPECT_EQ(Hex(EncodeRowKey({2, 1, id})), std::string("000000028000000000000001") + kUlidHex);
  EXPECT_EQ(Hex(EncodeChunkKey({2, ColumnKind::kSpreads, 5, {1, 7}})),
            "00000002030005800000000000000100000007");
  EXPECT_EQ(Hex(EncodeDayKey({2, 20'000})), "000000028000000000004e20");
  EXPECT_EQ(Hex(EncodeTierKey({2, 1, 5, 1})), "000000020100058000000000000001");
  EXPECT_EQ(Hex(EncodeNodeTimeKey("n1", {1, id})), std::string("6e31008000000000000001") + kUlidHex);
  EXPECT_EQ(Hex(EncodeNodeUlidKey("n1", id)), std::string("6e3100") + kUlidHex);
  EXPECT_EQ(Hex(SenderKey("n1", "ab")), "6e31006162");
}

TEST(Keys, ParseGivesBackWhatWasEncoded) {
  const UlidBytes id = *UlidFromText(kUlid);
  const auto row = ParseRowKey(EncodeRowKey({7, -5, id}));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(*row, (RowKey{7, -5, id}));
  const auto chunk = ParseChunkKey(EncodeChunkKey({7, ColumnKind::kRuns, 300, {-5, 9}}));
  ASSERT_TRUE(chunk.has_value());
  EXPECT_EQ(chunk->group, 7u);
  EXPECT_EQ(chunk->kind, ColumnKind::kRuns);
  EXPECT_EQ(chunk->column, 300);
  EXPECT_EQ(chunk->place, (ChunkPlace{-5, 9}));
  EXPECT_EQ(ParseDayKey(EncodeDayKey({7, -1}))->day, -1);
  EXPECT_EQ(ParseTierKey(EncodeTierKey({7, 2, 300, -1}))->column, 300);
  const auto time = ParseTimeKey(EncodeTimeKey({std::numeric_limits<int64_t>::max(), id}));
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->time_unix_ns, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseSeriesIdKey(SeriesIdKey(99)), 99u);
  EXPECT_FALSE(ParseRowKey("short").has_value());
  EXPECT_FALSE(ParseChunkKey(std::string(19, '\xFF')).has_value());
  EXPECT_FALSE(ParseTierKey("").has_value());
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
  EXPECT_EQ(Hex(EncodeRow({{0, 1.5, 0, 0}, {2, 1, 0, 0}})),
            "01000200"
            "01"
            "000000000000f83f"
            "000000000000f03f");
  EXPECT_EQ(Hex(EncodeRow({{1, 1.5, 0.25, 3}})),
            "010101"
            "01"
            "000000000000f83f"
            "000000000000d03f"
            "03");
  GroupRecord group{{"n", "b", "p", "1", "d"}, 2, {{1, 300, v1::BETTER_LOWER, {"m", "s", {{"k", "v"}}}}}};
  EXPECT_EQ(Hex(EncodeGroup(group)),
            "01"
            "016e"
            "0162"
            "0170"
            "0131"
            "0164"
            "02"
            "01"
            "01"
            "ac02"
            "02"
            "016d"
            "0173"
            "01"
            "016b"
            "0176");
  EXPECT_EQ(Hex(EncodeGroupStats({1, 2, -1, {{1, {3, 4, 5, 1.5}}}})),
            "01"
            "01"
            "04"
            "01"
            "01"
            "01"
            "03"
            "08"
            "0a"
            "000000000000f83f");
  v1::Run run;
  run.set_benchmark("b");
  EXPECT_EQ(Hex(EncodeRun(run, true)), "0101120162");
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
  const auto summary = DecodeRunSummary(EncodeRunSummary({v1::OUTCOME_TIMEOUT, "n1", "b1"}));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->outcome, v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(summary->node, "n1");
  EXPECT_EQ(summary->benchmark, "b1");
  Counters counters;
  counters.next_series_id = 9;
  counters.runs_by_outcome[6] = 3;
  EXPECT_EQ(*DecodeCounters(EncodeCounters(counters)), counters);
  const std::vector<RowCell> cells = {{0, 1.5, 0.25, 3}, {7, -2, 0, 0}, {16'383, 0, 0, 1}};
  std::vector<RowCell> decoded;
  ASSERT_TRUE(DecodeRow(EncodeRow(cells), &decoded).ok());
  EXPECT_EQ(decoded, cells);
  const auto totals = DecodeGroupStats(EncodeGroupStats({1, 2, -1, {{1, stats}}}));
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ(totals->columns[0].second, stats);
  const GroupRecord group{
      {"n", "b", "p", "1", "d"}, 2, {{1, 300, v1::BETTER_LOWER, {"m", "s", {{"k", "v"}}}}}};
  const auto same = DecodeGroup(EncodeGroup(group));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->key, group.key);
  EXPECT_EQ(same->columns[0].key, group.columns[0].key);
  EXPECT_EQ(same->columns[0].series_id, 300u);
}

TEST(Values, DamageAndNewerVersionsAreTold) {
  EXPECT_EQ(DecodeNumber("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeNumber("\x01short").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeNumber("\x02xxxxxxxx").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DecodeRunSummary("\x01\x01no end").status().code(), absl::StatusCode::kDataLoss);
  v1::Run node;
  EXPECT_EQ(DecodeMessage("\x01\xFF\xFF", &node).code(), absl::StatusCode::kDataLoss);
  std::vector<RowCell> cells;
  EXPECT_EQ(DecodeRow("", &cells).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeRow("\x02", &cells).code(), absl::StatusCode::kFailedPrecondition);
  const std::string row = EncodeRow({{1, 1.5, 0.25, 3}});
  for (size_t size = 0; size < row.size(); ++size) {
    EXPECT_FALSE(DecodeRow(std::string_view(row).substr(0, size), &cells).ok()) << size;
  }
  EXPECT_EQ(DecodeGroup("\x01\xFF").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeGroupStats("\x02").status().code(), absl::StatusCode::kFailedPrecondition);
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
