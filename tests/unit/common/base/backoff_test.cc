#include "common/base/backoff.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

const Backoff::Options kOptions{.first = absl::Seconds(1), .max = absl::Seconds(60), .factor = 2};

TEST(Backoff, DelaysStayBelowACeilingThatDoubles) {
  Backoff backoff(kOptions, 1);
  absl::Duration ceiling = absl::Seconds(1);
  for (int i = 0; i < 20; ++i) {
    const absl::Duration delay = backoff.Next();
    EXPECT_GE(delay, ceiling * 0.1);
    EXPECT_LE(delay, ceiling);
    ceiling = std::min(absl::Seconds(60), ceiling * 2);
  }
}

TEST(Backoff, StartsAgainAfterReset) {
  Backoff backoff(kOptions, 1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Seconds(1));
}

TEST(Backoff, TwoAgentsDoNotKeepStep) {
  Backoff a(kOptions, 1), b(kOptions, 2);
  int different = 0;
  for (int i = 0; i < 10; ++i) different += a.Next() != b.Next();
  EXPECT_EQ(different, 10);
}

}  // namespace
}  // namespace fleetmark
