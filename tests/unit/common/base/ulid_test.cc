#include "common/base/ulid.h"

#include <set>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(Ulid, LaterOnesSortAfterEarlierOnes) {
  std::string previous;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewUlid(absl::FromUnixMillis(1'790'000'000'000 + i));
    EXPECT_TRUE(IsUlid(id)) << id;
    EXPECT_LT(previous, id);
    previous = id;
  }
}

// The time part by the specification: 10 digits of 5 bits.
TEST(Ulid, TimePartIsBase32OfMilliseconds) {
  EXPECT_EQ(NewUlid(absl::FromUnixMillis(0)).substr(0, 10), "0000000000");
  EXPECT_EQ(NewUlid(absl::FromUnixMillis(31)).substr(0, 10), "000000000Z");
  EXPECT_EQ(NewUlid(absl::FromUnixMillis(1469918176385)).substr(0, 10), "01ARYZ6S41");
}

TEST(Ulid, OfOneMomentAreDistinct) {
  std::set<std::string> ids;
  for (int i = 0; i < 10000; ++i) ids.insert(NewUlid(absl::FromUnixMillis(1)));
  EXPECT_EQ(ids.size(), 10000u);
}

TEST(Ulid, OtherTextIsRefused) {
  EXPECT_FALSE(IsUlid(""));
  EXPECT_FALSE(IsUlid("01ARYZ6S41TSV4RRFFQ69G5FA"));
  EXPECT_FALSE(IsUlid("01ARYZ6S41TSV4RRFFQ69G5FAU"));  // U is not in the alphabet
  EXPECT_FALSE(IsUlid("81ARYZ6S41TSV4RRFFQ69G5FAV"));  // above 128 bits
  EXPECT_FALSE(IsUlid("01aryz6s41tsv4rrffq69g5fav"));
  EXPECT_TRUE(IsUlid("01ARYZ6S41TSV4RRFFQ69G5FAV"));
}

}  // namespace
}  // namespace fleetmark
