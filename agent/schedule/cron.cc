#include "agent/schedule/cron.h"

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

using absl::string_view;

constexpr int kYearsAhead = 41;  // 29 February on a given weekday is at most 40 years away

struct Field {
  const char* name;
  int low;
  int high;
  std::vector<string_view> names;  // of low, low + 1, …
};

const Field& FieldAt(size_t index) {
  static const auto* fields = new std::vector<Field>{
      {"minute", 0, 59, {}},
      {"hour", 0, 23, {}},
      {"day of month", 1, 31, {}},
      {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
      {"day of week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
  };
  return (*fields)[index];
}

constexpr std::pair<string_view, string_view> kShortcuts[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},
};

template <typename... Text>
absl::Status Wrong(const Field& field, const Text&... text) {
  return absl::InvalidArgumentError(absl::StrCat("cron: ", field.name, ": ", text...));
}

absl::StatusOr<int> ParseNumber(const Field& field, string_view text) {
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (absl::AsciiStrToLower(text) == field.names[i]) return field.low + static_cast<int>(i);
  }
  int value = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == string_view::npos;
  if (!digits || !absl::SimpleAtoi(text, &value) || value < field.low || value > field.high) {
    return Wrong(
        field, "'", text, "' is not ", field.low, " to ", field.high,
        field.names.empty() ? "" : absl::StrCat(" or ", field.names.front(), " to ", field.names.back()));
  }
  return value;
}

// One item of a list: *, a, a-b, each but a alone with /step.
absl::StatusOr<uint64_t> ParseItem(const Field& field, string_view item) {
  const std::vector<string_view> parts = absl::StrSplit(item, absl::MaxSplits('/', 1));
  const string_view range = parts[0];
  int from = field.low;
  int to = field.high;
  if (range != "*") {
    const std::vector<string_view> ends = absl::StrSplit(range, absl::MaxSplits('-', 1));
    FM_ASSIGN_OR_RETURN(from, ParseNumber(field, ends[0]));
    to = from;
    if (ends.size() == 2) {
      FM_ASSIGN_OR_RETURN(to, ParseNumber(field, ends[1]));
      // sat-sun: Sunday is 7 where it ends a range.
      if (field.high == 7 && to == 0 && from > 0) to = 7;
      if (to < from) return Wrong(field, "'", range, "' goes backwards; write a list");
    } else if (parts.size() == 2) {
      return Wrong(field, "'", item, "' has a step without a range; write ", range, "-", field.high, "/",
                   parts[1]);
    }
  }
  int step = 1;
  if (parts.size() == 2) {
    const bool digits = !parts[1].empty() && parts[1].find_first_not_of("0123456789") == string_view::npos;
    if (!digits || !absl::SimpleAtoi(parts[1], &step) || step < 1 || step > field.high) {
      return Wrong(field, "step '", parts[1], "' is not 1 to ", field.high);
    }
  }
  uint64_t bits = 0;
  for (int value = from; value <= to; value += step) bits |= uint64_t{1} << value;
  return bits;
}

absl::StatusOr<uint64_t> ParseField(const Field& field, string_view text) {
  uint64_t bits = 0;
  for (string_view item : absl::StrSplit(text, ',')) {
    FM_ASSIGN_OR_RETURN(const uint64_t more, ParseItem(field, item));
    bits |= more;
  }
  return bits;
}

bool Has(uint64_t bits, int value) { return (bits >> value & 1) != 0; }

// The first value from `from` on that is in the set; 64 when there is none.
int FirstFrom(uint64_t bits, int from) {
  return from > 63 ? 64 : std::countr_zero(bits & (~uint64_t{0} << from));
}

}  // namespace

absl::StatusOr<Cron> Cron::Parse(std::string_view text, absl::TimeZone zone) {
  string_view expression = absl::StripAsciiWhitespace(string_view(text.data(), text.size()));
  if (!expression.empty() && expression[0] == '@') {
    const std::string wanted = absl::AsciiStrToLower(expression);
    for (const auto& [name, meaning] : kShortcuts) {
      if (wanted == name) expression = meaning;
    }
    if (expression[0] == '@') {
      return absl::InvalidArgumentError(absl::StrCat(
          "cron: '", expression, "' is not known; there are @hourly, @daily, @weekly, @monthly and @yearly"));
    }
  }
  const std::vector<string_view> texts =
      absl::StrSplit(expression, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (texts.size() != 5) {
    return absl::InvalidArgumentError(
        absl::StrCat("cron: '", expression, "' has ", texts.size(),
                     " fields; there must be five: minute, hour, day of month, month, day of week"));
  }
  Cron cron;
  uint64_t* const fields[] = {&cron.minutes_, &cron.hours_, &cron.days_, &cron.months_, &cron.weekdays_};
  for (size_t i = 0; i < 5; ++i) {
    FM_ASSIGN_OR_RETURN(*fields[i], ParseField(FieldAt(i), texts[i]));
  }
  if (Has(cron.weekdays_, 7)) cron.weekdays_ |= 1;
  cron.any_day_ = texts[2][0] == '*';
  cron.any_weekday_ = texts[4][0] == '*';
  cron.zone_ = zone;
  return cron;
}

bool Cron::MatchesDay(absl::CivilDay day) const {
  // absl counts weekdays from Monday.
  const int weekday = (static_cast<int>(absl::GetWeekday(day)) + 1) % 7;
  const bool by_day = Has(days_, day.day());
  const bool by_weekday = Has(weekdays_, weekday);
  return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

absl::Time Cron::At(absl::CivilMinute minute) const {
  const absl::TimeZone::TimeInfo info = zone_.At(absl::CivilSecond(minute));
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

// Local times in order have instants in order, so the first whose instant is late enough is the answer.
absl::Time Cron::NextAfter(absl::Time time) const {
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return absl::InfiniteFuture();
  const absl::CivilMinute start(absl::ToCivilSecond(time, zone_));
  const absl::CivilYear end = absl::CivilYear(start) + kYearsAhead;
  for (absl::CivilDay day(start); absl::CivilYear(day) <= end;) {
    if (!Has(months_, day.month())) {
      day = absl::CivilDay(absl::CivilMonth(day) + 1);
      continue;
    }
    if (MatchesDay(day)) {
      const bool first_day = day == absl::CivilDay(start);
      for (int hour = FirstFrom(hours_, first_day ? start.hour() : 0); hour < 24;
           hour = FirstFrom(hours_, hour + 1)) {
        for (int minute = FirstFrom(minutes_, 0); minute < 60; minute = FirstFrom(minutes_, minute + 1)) {
          const absl::Time at = At(absl::CivilMinute(day.year(), day.month(), day.day(), hour, minute));
          if (at > time) return at;
        }
      }
    }
    ++day;
  }
  return absl::InfiniteFuture();
}

}  // namespace fleetmark::agent
