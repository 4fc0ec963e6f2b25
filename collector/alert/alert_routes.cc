#include "collector/alert/alert_routes.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::collector {
namespace {

constexpr std::array kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr size_t kMaxMatches = 16;
constexpr absl::Duration kLongestWindow = absl::Hours(7 * 24);

absl::StatusOr<int> DayNumber(const std::string& name) {
  const auto it = std::find(kDays.begin(), kDays.end(), name);
  if (it != kDays.end()) return static_cast<int>(it - kDays.begin());
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no day; days are mon, tue, wed, thu, fri, sat, sun"));
}

absl::StatusOr<absl::Duration> TimeOfDay(const std::string& text) {
  const auto digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() == 5 && text[2] == ':' && digit(0) && digit(1) && digit(3) && digit(4)) {
    const int hour = (text[0] - '0') * 10 + text[1] - '0';
    const int minute = (text[3] - '0') * 10 + text[4] - '0';
    if (hour < 24 && minute < 60) return absl::Hours(hour) + absl::Minutes(minute);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no time of day; it is HH:MM, as 22:30"));
}

void AddOnce(const std::vector<std::string>& from, std::vector<std::string>* to) {
  for (const std::string& item : from) {
    if (std::find(to->begin(), to->end(), item) == to->end()) to->push_back(item);
  }
}

std::vector<std::string> ToVector(const google::protobuf::RepeatedPtrField<std::string>& items) {
  return {items.begin(), items.end()};
}

bool IsRecurring(const v1::Silence& silence) { return !silence.at().empty(); }

absl::StatusOr<WeeklyHours> HoursOf(const v1::Silence& silence) {
  return MakeWeeklyHours(ToVector(silence.days()), silence.at(), absl::Seconds(silence.seconds()),
                         silence.time_zone());
}

}  // namespace

bool WeeklyHours::Holds(absl::Time time) const {
  const absl::CivilSecond wall = absl::ToCivilSecond(time, zone);
  const int days_back = static_cast<int>(length / absl::Hours(24)) + 1;
  for (int back = 0; back <= days_back; ++back) {
    const absl::CivilDay day = absl::CivilDay(wall) - back;
    const int weekday = static_cast<int>(absl::GetWeekday(day));  // Monday is 0
    if (!days.empty() && std::find(days.begin(), days.end(), weekday) == days.end()) continue;
    const absl::CivilSecond from = absl::CivilSecond(day) + absl::ToInt64Seconds(begin);
    const absl::CivilSecond to = from + absl::ToInt64Seconds(length);
    if (wall >= from && wall < to) return true;
  }
  return false;
}

absl::StatusOr<WeeklyHours> MakeWeeklyHours(const std::vector<std::string>& days, const std::string& at,
                                            absl::Duration length, const std::string& zone) {
  WeeklyHours hours;
  for (const std::string& day : days) {
    FM_ASSIGN_OR_RETURN(const int number, DayNumber(day));
    hours.days.push_back(number);
  }
  FM_ASSIGN_OR_RETURN(hours.begin, TimeOfDay(at));
  if (length <= absl::ZeroDuration() || length > kLongestWindow) {
    return absl::InvalidArgumentError("must last for more than no time and for a week at most");
  }
  hours.length = length;
  if (!zone.empty() && !absl::LoadTimeZone(zone, &hours.zone)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", zone, "' is no time zone; it is a name as Europe/Berlin"));
  }
  return hours;
}

bool MatchesLabels(const std::map<std::string, std::string>& match,
                   const std::map<std::string, std::string>& labels) {
  return std::all_of(match.begin(), match.end(), [&](const auto& wanted) {
    const auto it = labels.find(wanted.first);
    return it != labels.end() && MatchesGlob(wanted.second, it->second);
  });
}

RoutedAlert RouteAlert(const std::vector<AlertRoute>& routes,
                       const std::map<std::string, std::string>& labels, absl::Time now) {
  RoutedAlert out;
  for (const AlertRoute& route : routes) {
    const bool holds =
        route.hours.empty() || std::any_of(route.hours.begin(), route.hours.end(),
                                           [now](const WeeklyHours& hours) { return hours.Holds(now); });
    if (!holds || !MatchesLabels(route.match, labels)) continue;
    out.routes.push_back(route.name);
    AddOnce(route.receivers, &out.receivers);
    if (route.escalate_after > absl::ZeroDuration()) {
      const bool first = out.escalate_after == absl::ZeroDuration();
      out.escalate_after = first ? route.escalate_after : std::min(out.escalate_after, route.escalate_after);
      AddOnce(route.escalate_to, &out.escalate_to);
    }
    if (!route.go_on) break;
  }
  return out;
}

bool SilenceHolds(const v1::Silence& silence, absl::Time now) {
  const int64_t now_ns = absl::ToUnixNanos(now);
  if (silence.ended_unix_ns() != 0 || now_ns < silence.from_unix_ns() || now_ns >= silence.to_unix_ns()) {
    return false;
  }
  if (!IsRecurring(silence)) return true;
  const absl::StatusOr<WeeklyHours> hours = HoursOf(silence);
  return hours.ok() && hours->Holds(now);
}

absl::Status CheckSilence(const v1::Silence& silence) {
  if (silence.match().empty()) return absl::InvalidArgumentError("match: must name at least one label");
  if (silence.match().size() > kMaxMatches) return absl::InvalidArgumentError("match: more than 16 labels");
  for (const auto& [name, value] : silence.match()) {
    FM_RETURN_IF_ERROR(CheckText("match", name, limits::kNameBytes));
    FM_RETURN_IF_ERROR(CheckText("match", value, limits::kLabelValueBytes));
    if (name.empty() || value.empty())
      return absl::InvalidArgumentError("match: a label without name or value");
  }
  if (silence.by().empty()) return absl::InvalidArgumentError("by: must say who asks");
  FM_RETURN_IF_ERROR(CheckText("by", silence.by(), limits::kLabelValueBytes));
  if (silence.note().empty()) return absl::InvalidArgumentError("note: must say why");
  FM_RETURN_IF_ERROR(CheckText("note", silence.note(), limits::kEventTextBytes));
  if (silence.to_unix_ns() <= silence.from_unix_ns()) {
    return absl::InvalidArgumentError("to_unix_ns: must be after from_unix_ns");
  }
  if (IsRecurring(silence)) return Annotate(HoursOf(silence).status(), "at, days, seconds, time_zone");
  if (silence.days_size() > 0 || silence.seconds() != 0 || !silence.time_zone().empty()) {
    return absl::InvalidArgumentError("at: must be set where days, seconds or time_zone are");
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
