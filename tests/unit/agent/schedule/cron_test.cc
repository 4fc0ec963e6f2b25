#include "agent/schedule/cron.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;

absl::TimeZone Zone(const std::string& name) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone(name, &zone)) << name;
  return zone;
}

// The next `count` times after `from`, as UTC.
std::vector<std::string> Next(const std::string& text, const std::string& zone, const std::string& from,
                              int count) {
  const auto cron = Cron::Parse(text, Zone(zone));
  EXPECT_TRUE(cron.ok()) << cron.status();
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime("%Y-%m-%d %H:%M", from, &time, &error)) << error;
  std::vector<std::string> times;
  for (int i = 0; i < count && cron.ok(); ++i) {
    time = cron->NextAfter(time);
    times.push_back(absl::FormatTime("%Y-%m-%d %H:%M", time, absl::UTCTimeZone()));
  }
  return times;
}

TEST(CronTest, ListsRangesStepsAndNames) {
  EXPECT_THAT(Next("0,30 8-9 * * *", "UTC", "2025-01-01 00:00", 5),
              ElementsAre("2025-01-01 08:00", "2025-01-01 08:30", "2025-01-01 09:00", "2025-01-01 09:30",
                          "2025-01-02 08:00"));
  EXPECT_THAT(Next("*/20 * * * *", "UTC", "2025-01-01 00:00", 3),
              ElementsAre("2025-01-01 00:20", "2025-01-01 00:40", "2025-01-01 01:00"));
  EXPECT_THAT(Next("5-59/25 0 1 JAN,jul *", "UTC", "2025-01-01 00:05", 3),
              ElementsAre("2025-01-01 00:30", "2025-01-01 00:55", "2025-07-01 00:05"));
  EXPECT_THAT(Next("0 0 * * Sat-Sun", "UTC", "2025-01-01 00:00", 3),
              ElementsAre("2025-01-04 00:00", "2025-01-05 00:00", "2025-01-11 00:00"));
  EXPECT_THAT(Next("0 0 * * 7", "UTC", "2025-01-01 00:00", 1), ElementsAre("2025-01-05 00:00"));
}

TEST(CronTest, Shortcuts) {
  EXPECT_THAT(Next("@hourly", "UTC", "2025-01-01 00:30", 1), ElementsAre("2025-01-01 01:00"));
  EXPECT_THAT(Next("@weekly", "UTC", "2025-01-01 00:30", 1), ElementsAre("2025-01-05 00:00"));
  EXPECT_THAT(Next("@Yearly", "UTC", "2025-01-01 00:30", 1), ElementsAre("2026-01-01 00:00"));
}

TEST(CronTest, EitherDayIsEnoughWhenBothAreRestricted) {
  EXPECT_THAT(Next("0 0 13 * fri", "UTC", "2025-06-01 00:00", 3),
              ElementsAre("2025-06-06 00:00", "2025-06-13 00:00", "2025-06-20 00:00"));
  EXPECT_THAT(Next("0 0 */10 * mon", "UTC", "2025-06-01 00:00", 2),
              ElementsAre("2025-07-21 00:00", "2025-08-11 00:00"));
}

TEST(CronTest, RareAndImpossibleDays) {
  EXPECT_THAT(Next("0 0 29 2 *", "UTC", "2025-01-01 00:00", 2),
              ElementsAre("2028-02-29 00:00", "2032-02-29 00:00"));
  const auto never = Cron::Parse("0 0 30 2 *", absl::UTCTimeZone());
  ASSERT_TRUE(never.ok());
  EXPECT_EQ(never->NextAfter(absl::FromUnixSeconds(1'750'000'000)), absl::InfiniteFuture());
}

TEST(CronTest, SkippedLocalTimeRunsAtTheTransition) {
  // New York goes from 02:00 to 03:00 on 2025-03-09, at 07:00 UTC.
  EXPECT_THAT(Next("30 2 * * *", "America/New_York", "2025-03-08 12:00", 2),
              ElementsAre("2025-03-09 07:00", "2025-03-10 06:30"));
  EXPECT_THAT(Next("*/30 * * * *", "America/New_York", "2025-03-09 06:00", 3),
              ElementsAre("2025-03-09 06:30", "2025-03-09 07:00", "2025-03-09 07:30"));
}

TEST(CronTest, RepeatedLocalTimeRunsOnce) {
  // New York goes from 02:00 back to 01:00 on 2025-11-02, at 06:00 UTC.
  EXPECT_THAT(Next("30 1 * * *", "America/New_York", "2025-11-01 12:00", 2),
              ElementsAre("2025-11-02 05:30", "2025-11-03 06:30"));
  EXPECT_THAT(Next("*/30 * * * *", "America/New_York", "2025-11-02 05:00", 3),
              ElementsAre("2025-11-02 05:30", "2025-11-02 07:00", "2025-11-02 07:30"));
  EXPECT_THAT(Next("30 1 * * *", "America/New_York", "2025-11-02 06:10", 1), ElementsAre("2025-11-03 06:30"));
}

TEST(CronTest, ZonesWithOddOffsetsAndMidnightTransitions) {
  EXPECT_THAT(Next("0 12 * * *", "Asia/Kathmandu", "2025-01-01 00:00", 1), ElementsAre("2025-01-01 06:15"));
  // Santiago skipped midnight on 2025-09-07.
  EXPECT_THAT(Next("0 0 * * *", "America/Santiago", "2025-09-06 12:00", 2),
              ElementsAre("2025-09-07 04:00", "2025-09-08 03:00"));
}

TEST(CronTest, ErrorsNameTheFieldAndSayWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const auto cron = Cron::Parse(text, absl::UTCTimeZone());
    EXPECT_EQ(cron.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(cron.status().message());
  };
  EXPECT_EQ(error("60 * * * *"), "cron: minute: '60' is not 0 to 59");
  EXPECT_EQ(error("* 24 * * *"), "cron: hour: '24' is not 0 to 23");
  EXPECT_EQ(error("* * 0 * *"), "cron: day of month: '0' is not 1 to 31");
  EXPECT_EQ(error("* * * foo *"), "cron: month: 'foo' is not 1 to 12 or jan to dec");
  EXPECT_EQ(error("* * * * 8"), "cron: day of week: '8' is not 0 to 7 or sun to sat");
  EXPECT_EQ(error("10-5 * * * *"), "cron: minute: '10-5' goes backwards; write a list");
  EXPECT_EQ(error("*/0 * * * *"), "cron: minute: step '0' is not 1 to 59");
  EXPECT_EQ(error("5/15 * * * *"), "cron: minute: '5/15' has a step without a range; write 5-59/15");
  EXPECT_TRUE(absl::StrContains(error("* * * *"), "has 4 fields; there must be five"));
  EXPECT_TRUE(absl::StrContains(error("@reboot"), "'@reboot' is not known"));
  for (const char* text : {"", "1,,2 * * * *", "-1 * * * *", "1- * * * *", "*-5 * * * *", "*/ * * * *",
                           "** * * * *", "99999999999 * * * *", "* * * * * *", "+1 * * * *"}) {
    error(text);
  }
}

// Whatever the expression: strictly later, on a minute that matches, and nothing in between is passed over.
TEST(CronTest, AgreesWithSearchMinuteByMinute) {
  const absl::TimeZone zone = Zone("Europe/Berlin");
  for (const char* text :
       {"*/7 */3 * * *", "13 1,2,3 * 3,10 sun", "0 2 25-31 3,10 *", "59 23 31 * mon", "* * 30 3 *"}) {
    const auto cron = Cron::Parse(text, zone);
    ASSERT_TRUE(cron.ok());
    absl::Time time = absl::FromCivil(absl::CivilHour(2025, 3, 28, 0), zone);
    const absl::Time end = time + absl::Hours(24 * 5);
    for (; time < end; time += absl::Minutes(11)) {
      const absl::Time next = cron->NextAfter(time);
      ASSERT_GT(next, time) << text;
      for (absl::Time between = time + absl::Minutes(1); between < std::min(next, time + absl::Hours(3));
           between += absl::Minutes(1)) {
        ASSERT_EQ(cron->NextAfter(between), next) << text << " " << between;
      }
    }
  }
}

}  // namespace
}  // namespace fleetmark::agent
