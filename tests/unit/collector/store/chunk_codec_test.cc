// The codec gives back every bit of any numbers, refuses every damaged byte, and its bytes are those that lie
// on people's disks.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "collector/store/chunk_codec/bit_stream.h"
#include "collector/store/chunk_codec/checksum.h"
#include "collector/store/chunk_codec/column_codec.h"
#include "collector/store/chunk_codec/integer_codec.h"
#include "collector/store/chunk_codec/normal_code.h"

namespace fleetmark::collector {
namespace {

using Limits = std::numeric_limits<double>;

std::string Encoded(const std::vector<double>& values) { return EncodeValues({values.size(), {}, values}); }

void ExpectRoundTrip(const std::vector<double>& values, const std::string& what) {
  ValueColumn out;
  const absl::Status status = DecodeValues(Encoded(values), &out);
  ASSERT_TRUE(status.ok()) << what << ": " << status;
  ASSERT_EQ(out.values.size(), values.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint64_t>(out.values[i]), std::bit_cast<uint64_t>(values[i]))
        << what << ", value " << i;
  }
}

double AnyBits(std::mt19937_64& rng) { return std::bit_cast<double>(rng()); }

// One value of a kind that benchmarks print, or of one that they should not.
double ValueOf(int kind, std::mt19937_64& rng) {
  std::normal_distribution<double> noise(0, 1);
  constexpr uint64_t kOdd[] = {0,
                               0x8000000000000000,
                               1,
                               0x8000000000000001,
                               0x000FFFFFFFFFFFFF,
                               0x7FF0000000000000,
                               0xFFF0000000000000,
                               0x7FF8000000000000,
                               0x7FF0000000000001,
                               0xFFFFFFFFFFFFFFFF,
                               0x7FEFFFFFFFFFFFFF};
  switch (kind) {
    case 0:
      return std::round((187.42 + 2 * noise(rng)) * 100) / 100;
    case 1:
      return std::round(1e9 * (1 + 0.02 * noise(rng)));
    case 2:
      return 3.5e7 * (1 + 0.01 * noise(rng));
    case 3:
      return AnyBits(rng);
    case 4:
      return std::bit_cast<double>(kOdd[rng() % std::size(kOdd)]);
    case 5:
      return std::round(noise(rng) * 30) * 1e9;
    case 6:
      return 42.5;
    default:
      return std::round(noise(rng) * 1e6) / 1e7;
  }
}
constexpr int kKinds = 8;

TEST(ChunkCodec, AnyDoublesComeBackToTheBit) {
  std::mt19937_64 rng(11);
  for (int round = 0; round < 3000; ++round) {
    const size_t n = 1 + rng() % (round % 50 == 0 ? kMaxRows : 200);
    const int kind = static_cast<int>(rng() % kKinds);
    const int other = static_cast<int>(rng() % kKinds);
    const uint64_t one_in = 1 + rng() % 40;  // how often the other kind comes among the first
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i) values.push_back(ValueOf(rng() % one_in == 0 ? other : kind, rng));
    ExpectRoundTrip(values, "kinds " + std::to_string(kind) + " and " + std::to_string(other));
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkCodec, OddDoublesAloneComeBack) {
  for (const double value : {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                             Limits::denorm_min(), -Limits::denorm_min(), Limits::max(), Limits::lowest(),
                             9007199254740992.0, 9007199254740993.0, 1e15, 0.1, 1e-15, 1e22, 1e23}) {
    ExpectRoundTrip({value}, "alone");
    ExpectRoundTrip({value, value, value}, "three times");
    ExpectRoundTrip({1.25, value, -7.5}, "among decimals");
  }
}

std::vector<int64_t> RandomTimes(std::mt19937_64& rng) {
  const size_t n = 1 + rng() % 300;
  const int kind = static_cast<int>(rng() % 5);
  std::vector<int64_t> times;
  int64_t time = 1'790'000'000'000'000'000;
  for (size_t i = 0; i < n; ++i) {
    time += 900'000'000'000;
    if (kind == 0) times.push_back(time);
    if (kind == 1) times.push_back(time + static_cast<int64_t>(rng() % 60'000) * 1'000'000);
    if (kind == 2) times.push_back(static_cast<int64_t>(rng()));
    if (kind == 3) times.push_back(time - static_cast<int64_t>(rng() % 3) * 5'000'000'000'000);
    if (kind == 4) times.push_back(rng() % 2 == 0 ? INT64_MIN : INT64_MAX);
  }
  return times;
}

TEST(ChunkCodec, AnyTimesComeBack) {
  std::mt19937_64 rng(12);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<int64_t> times = RandomTimes(rng);
    std::vector<int64_t> out;
    ASSERT_TRUE(DecodeTimes(EncodeTimes(times), &out).ok());
    ASSERT_EQ(out, times);
  }
}

TEST(ChunkCodec, RowsWithoutAValueStayWithout) {
  std::mt19937_64 rng(13);
  for (int round = 0; round < 500; ++round) {
    ValueColumn in;
    in.rows = 2 + rng() % 200;
    for (uint32_t row = 0; row < in.rows; ++row) {
      if (rng() % 3 != 0) in.present.push_back(row);
    }
    if (in.present.empty()) in.present.push_back(1);
    for (size_t i = 0; i < in.present.size(); ++i) in.values.push_back(ValueOf(0, rng));
    ValueColumn out;
    ASSERT_TRUE(DecodeValues(EncodeValues(in), &out).ok());
    EXPECT_EQ(out.rows, in.rows);
    EXPECT_EQ(out.present, in.present);
    EXPECT_EQ(out.values, in.values);
  }
}

// The bounds are a little above what is measured; the entropy of normal noise of `deviation` steps is
// log2(deviation * sqrt(2 pi e)) bits.
TEST(ChunkCodec, ShortDecimalsTakeLittleMoreThanTheirEntropy) {
  std::mt19937_64 rng(14);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> values;
  for (int i = 0; i < 480; ++i) values.push_back(std::round((187.42 + 2.81 * noise(rng)) * 100) / 100);
  const double entropy = std::log2(281 * 4.1327);
  const double bits = 8.0 * static_cast<double>(Encoded(values).size()) / static_cast<double>(values.size());
  EXPECT_LT(bits, entropy * 1.05);
  EXPECT_GT(bits, entropy * 0.95);
}

TEST(ChunkCodec, TimesOnAGridTakeNextToNothingAndRepeatedValuesToo) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < 1000; ++i) times.push_back(1'790'000'000'000'000'000 + i * 900'000'000'000);
  EXPECT_LT(EncodeTimes(times).size(), 32u);
  EXPECT_LT(Encoded(std::vector<double>(1000, 187.42)).size(), 20u);
}

TEST(ChunkCodec, EveryFlippedBitIsFound) {
  std::mt19937_64 rng(15);
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(ValueOf(0, rng));
  const std::string good = Encoded(values);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << (bit % 8));
    ValueColumn out;
    EXPECT_FALSE(DecodeValues(bad, &out).ok()) << "bit " << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    ValueColumn out;
    EXPECT_FALSE(DecodeValues(std::string_view(good).substr(0, size), &out).ok()) << size << " bytes";
  }
}

TEST(ChunkCodec, ANewerVersionIsTold) {
  std::string column = Encoded({1, 2});
  column[0] = 2;
  ValueColumn out;
  EXPECT_EQ(DecodeValues(column, &out).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DecodeValues("", &out).code(), absl::StatusCode::kDataLoss);
}

TEST(ChunkCodec, AColumnIsReadOnlyAsWhatItIs) {
  std::vector<int64_t> times;
  ValueColumn values;
  EXPECT_EQ(DecodeTimes(Encoded({1, 2}), &times).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeValues(EncodeTimes({1, 2}), &values).code(), absl::StatusCode::kDataLoss);
}

TEST(ChunkCodec, RunIdsComeBackWhateverTheirTimes) {
  std::mt19937_64 rng(16);
  std::vector<std::string> ids;
  std::vector<int64_t> times;
  for (int i = 0; i < 200; ++i) {
    std::string& id = ids.emplace_back();
    for (int byte = 0; byte < 16; ++byte) id.push_back(static_cast<char>(rng()));
    times.push_back(static_cast<int64_t>(rng()));
  }
  const std::vector<std::string_view> views(ids.begin(), ids.end());
  const std::string column = EncodeRunIds(views, times);
  std::string decoded;
  ASSERT_TRUE(DecodeRunIds(column, times, &decoded).ok());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(decoded.substr(16 * i, 16), ids[i]);
  times.pop_back();
  EXPECT_EQ(DecodeRunIds(column, times, &decoded).code(), absl::StatusCode::kDataLoss);
}

TEST(ChunkCodec, EachNormalCodeIsAWholePrefixCode) {
  for (size_t number = 0; number < NormalCode::kCodes; ++number) {
    const NormalCode& code = NormalCode::Get(number);
    double kraft = 0;
    for (size_t symbol = 0; symbol < NormalCode::kSymbols; ++symbol) {
      kraft += std::ldexp(1.0, -static_cast<int>(code.bits(symbol)));
      EXPECT_EQ(code.Decode(code.word(symbol)).symbol, symbol);
    }
    EXPECT_EQ(kraft, 1.0) << number;
  }
}

TEST(ChunkCodec, ChecksumIsCrc32c) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(ChunkCodec, Golden) {
  const auto hex = [](const std::string& bytes) { return absl::BytesToHexString(bytes); };
  EXPECT_EQ(hex(Encoded({187.42, 187.5, 186.99})), "0102030004000496a40206eb0c008efa703d");
  EXPECT_EQ(hex(Encoded({0.1 + 0.2, 1.0 / 3})), "0102020101e8cc99b3e6cc99d37fc28891a2c4889102a652772d");
  EXPECT_EQ(hex(EncodeTimes({1'000'000'000, 1'900'000'000, 2'800'000'000})),
            "0101030280a8d6b9070100880ee4fbaa40");
  EXPECT_EQ(hex(EncodeValues({3, {0, 2}, {5, 7}})), "0103030204000208000000040a020853ef29a3");
}

}  // namespace
}  // namespace fleetmark::collector
