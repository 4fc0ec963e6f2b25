#include "agent/schedule/schedule.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

absl::Time At(int64_t unix_seconds) { return absl::FromUnixSeconds(unix_seconds); }

TEST(ScheduleTest, IntervalsAreAlignedToTheEpoch) {
  const auto schedule = Schedule::Parse("every 15m");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->NextAfter(At(899)), At(900));
  EXPECT_EQ(schedule->NextAfter(At(900)), At(1800));
  EXPECT_EQ(schedule->NextAfter(At(-1)), At(0));
  EXPECT_EQ(schedule->ShortestInterval(), absl::Minutes(15));
}

TEST(ScheduleTest, WrongTextsAreRefusedWithAReason) {
  const auto error = [](const char* text, const char* zone) {
    return std::string(Schedule::Parse(text, zone).status().message());
  };
  EXPECT_TRUE(absl::StrContains(error("every 15", ""), "write for example"));
  EXPECT_TRUE(absl::StrContains(error("every 10ms", ""), "between 1s and 366d"));
  EXPECT_TRUE(absl::StrContains(error("every 400d", ""), "between 1s and 366d"));
  EXPECT_TRUE(absl::StrContains(error("0 3 * * *", "Europe/Berln"), "Europe/Berln"));
  EXPECT_TRUE(absl::StrContains(error("each hour", ""), "neither 'every 15m' nor five cron fields"));
}

TEST(ScheduleTest, SplayIsSteadyAndWithinItsBounds) {
  const auto schedule = Schedule::Parse("every 1h");
  const Schedule a = schedule->WithSplay("n1", "stream", absl::InfiniteDuration());
  const Schedule b = schedule->WithSplay("n1", "stream", absl::InfiniteDuration());
  EXPECT_EQ(a.splay(), b.splay());
  EXPECT_NE(a.splay(), schedule->WithSplay("n1", "gemm", absl::InfiniteDuration()).splay());
  EXPECT_NE(a.splay(), schedule->WithSplay("n2", "stream", absl::InfiniteDuration()).splay());
  EXPECT_LT(schedule->WithSplay("n1", "stream", absl::Minutes(5)).splay(), absl::Minutes(5));
  EXPECT_EQ(schedule->WithSplay("n1", "stream", absl::ZeroDuration()).splay(), absl::ZeroDuration());
  const absl::Time first = a.NextAfter(At(1'000'000));
  EXPECT_EQ(a.NextAfter(first), first + absl::Hours(1));
  EXPECT_EQ(a.NextAfter(first - absl::Nanoseconds(1)), first);
}

TEST(ScheduleTest, SplayOfCronIsBoundedByItsShortestInterval) {
  const auto schedule = Schedule::Parse("*/10 8-17 * * *", "Europe/Berlin");
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->ShortestInterval(), absl::Minutes(10));
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(schedule->WithSplay(absl::StrCat("n", i), "b", absl::Hours(9)).splay(), absl::Minutes(10));
  }
}

// A thousand nodes of an hourly benchmark, in twenty slots of three minutes: 50 expected in each. The
// statistic is chi-square with 19 degrees of freedom, beyond 43.8 once in a thousand.
TEST(ScheduleTest, ThousandNodesSpreadEvenly) {
  const auto schedule = Schedule::Parse("every 1h");
  std::vector<int> slots(20);
  for (int i = 0; i < 1000; ++i) {
    const Schedule splayed =
        schedule->WithSplay(absl::StrCat("node-", i, ".cluster"), "stream", absl::Hours(2));
    ++slots[static_cast<size_t>(splayed.splay() / absl::Minutes(3))];
  }
  double chi_square = 0;
  for (int count : slots) chi_square += (count - 50.0) * (count - 50.0) / 50.0;
  EXPECT_LT(chi_square, 43.8);
}

}  // namespace
}  // namespace fleetmark::agent
