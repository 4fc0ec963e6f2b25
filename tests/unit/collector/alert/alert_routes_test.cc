#include "collector/alert/alert_routes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

absl::Time At(const std::string& text) {
  absl::Time time;
  std::string why;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &why)) << why;
  return time;
}

AlertRoute Route(std::map<std::string, std::string> match, std::vector<std::string> receivers) {
  AlertRoute route;
  route.match = std::move(match);
  route.receivers = std::move(receivers);
  return route;
}

TEST(AlertRoutes, TheFirstThatMatchesUnlessItGoesOn) {
  std::vector<AlertRoute> routes = {Route({{"class", "silent"}}, {"ops"}), Route({{"node", "gpu*"}}, {"gpu"}),
                                    Route({}, {"all", "gpu"})};
  const absl::Time now = At("2026-05-01T12:00:00Z");
  EXPECT_THAT(RouteAlert(routes, {{"class", "silent"}, {"node", "gpu1"}}, now).receivers, ElementsAre("ops"));
  EXPECT_THAT(RouteAlert(routes, {{"class", "slow"}, {"node", "gpu1"}}, now).receivers, ElementsAre("gpu"));
  EXPECT_THAT(RouteAlert(routes, {{"class", "slow"}}, now).receivers, ElementsAre("all", "gpu"));
  routes[1].go_on = true;
  EXPECT_THAT(RouteAlert(routes, {{"class", "slow"}, {"node", "gpu1"}}, now).receivers,
              ElementsAre("gpu", "all"));
  EXPECT_THAT(RouteAlert({}, {{"class", "slow"}}, now).receivers, IsEmpty());
}

TEST(AlertRoutes, ALabelThatIsNotThereMatchesNoPattern) {
  EXPECT_FALSE(MatchesLabels({{"node", "*"}}, {{"subject", "rack r1"}}));
  EXPECT_TRUE(MatchesLabels({}, {}));
}

TEST(AlertRoutes, HoldsAtItsHours) {
  AlertRoute day = Route({}, {"day"});
  day.hours = {MakeWeeklyHours({"mon", "fri"}, "08:00", absl::Hours(10), "Europe/Berlin").value()};
  const std::vector<AlertRoute> routes = {day, Route({}, {"night"})};
  // 2026-05-01 is a Friday; Berlin is two hours ahead.
  EXPECT_THAT(RouteAlert(routes, {}, At("2026-05-01T06:00:00Z")).receivers, ElementsAre("day"));
  EXPECT_THAT(RouteAlert(routes, {}, At("2026-05-01T05:59:59Z")).receivers, ElementsAre("night"));
  EXPECT_THAT(RouteAlert(routes, {}, At("2026-05-01T16:00:00Z")).receivers, ElementsAre("night"));
  EXPECT_THAT(RouteAlert(routes, {}, At("2026-05-02T09:00:00Z")).receivers, ElementsAre("night"));
}

TEST(WeeklyHours, GoPastMidnightAndThroughTheNightInWhichTheClockIsSet) {
  const WeeklyHours night = MakeWeeklyHours({"sat"}, "22:00", absl::Hours(8), "Europe/Berlin").value();
  // 2026-03-29, a Sunday: at 02:00 the clock goes to 03:00. It ends at 06:00 by the wall clock, 04:00 UTC.
  EXPECT_TRUE(night.Holds(At("2026-03-28T21:00:00Z")));
  EXPECT_TRUE(night.Holds(At("2026-03-29T03:59:59Z")));
  EXPECT_FALSE(night.Holds(At("2026-03-29T04:00:00Z")));
  EXPECT_FALSE(night.Holds(At("2026-03-28T20:59:59Z")));
  const WeeklyHours week = MakeWeeklyHours({"mon"}, "00:00", absl::Hours(168), "").value();
  EXPECT_TRUE(week.Holds(At("2026-05-03T23:59:59Z")));
}

TEST(WeeklyHours, SayWhatIsWrong) {
  const auto fault = [](const std::vector<std::string>& days, const char* at, absl::Duration length,
                        const char* zone) {
    return Message(MakeWeeklyHours(days, at, length, zone).status());
  };
  EXPECT_NE(fault({"monday"}, "08:00", absl::Hours(1), "").find("mon, tue"), std::string::npos);
  EXPECT_NE(fault({}, "8:00", absl::Hours(1), "").find("HH:MM"), std::string::npos);
  EXPECT_NE(fault({}, "24:00", absl::Hours(1), ""), "");
  EXPECT_NE(fault({}, "08:00", absl::ZeroDuration(), ""), "");
  EXPECT_NE(fault({}, "08:00", absl::Hours(169), ""), "");
  EXPECT_NE(fault({}, "08:00", absl::Hours(1), "Berlin").find("Europe/Berlin"), std::string::npos);
}

v1::Silence ASilence() {
  v1::Silence silence;
  (*silence.mutable_match())["node"] = "n7";
  silence.set_by("ann@desk");
  silence.set_note("new DIMM");
  silence.set_from_unix_ns(absl::ToUnixNanos(At("2026-05-01T00:00:00Z")));
  silence.set_to_unix_ns(absl::ToUnixNanos(At("2026-06-01T00:00:00Z")));
  return silence;
}

TEST(Silences, HoldFromTo) {
  v1::Silence silence = ASilence();
  EXPECT_TRUE(CheckSilence(silence).ok());
  EXPECT_TRUE(SilenceHolds(silence, At("2026-05-01T00:00:00Z")));
  EXPECT_FALSE(SilenceHolds(silence, At("2026-06-01T00:00:00Z")));
  EXPECT_FALSE(SilenceHolds(silence, At("2026-04-30T23:59:59Z")));
  silence.set_ended_unix_ns(1);
  EXPECT_FALSE(SilenceHolds(silence, At("2026-05-02T00:00:00Z")));
}

TEST(Silences, Recur) {
  v1::Silence silence = ASilence();
  silence.add_days("sun");
  silence.set_at("02:00");
  silence.set_seconds(7200);
  silence.set_time_zone("America/New_York");
  EXPECT_TRUE(CheckSilence(silence).ok());
  EXPECT_TRUE(SilenceHolds(silence, At("2026-05-03T06:30:00Z")));   // 02:30 there
  EXPECT_FALSE(SilenceHolds(silence, At("2026-05-03T02:30:00Z")));  // Saturday there
  EXPECT_FALSE(SilenceHolds(silence, At("2026-06-07T06:30:00Z")));  // over
}

TEST(Silences, SayWhatIsWrong) {
  v1::Silence silence = ASilence();
  silence.clear_match();
  EXPECT_NE(CheckSilence(silence), absl::OkStatus());
  silence = ASilence();
  silence.clear_by();
  EXPECT_NE(CheckSilence(silence), absl::OkStatus());
  silence = ASilence();
  silence.clear_note();
  EXPECT_NE(CheckSilence(silence), absl::OkStatus());
  silence = ASilence();
  silence.set_to_unix_ns(silence.from_unix_ns());
  EXPECT_NE(CheckSilence(silence), absl::OkStatus());
  silence = ASilence();
  silence.set_seconds(60);
  EXPECT_NE(CheckSilence(silence), absl::OkStatus());
}

}  // namespace
}  // namespace fleetmark::collector
