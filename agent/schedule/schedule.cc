#include "agent/schedule/schedule.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/config/quantities.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kShortest = absl::Seconds(1);
constexpr absl::Duration kLongest = absl::Hours(366 * 24);

absl::StatusOr<absl::Duration> ParseInterval(absl::string_view text) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  FM_ASSIGN_OR_RETURN(const absl::Duration interval, ParseDuration(trimmed));
  if (interval < kShortest || interval > kLongest) {
    return absl::InvalidArgumentError(absl::StrCat("'", trimmed, "' is not between 1s and 366d"));
  }
  return interval;
}

}  // namespace

absl::StatusOr<Schedule> Schedule::Parse(std::string_view text, std::string_view time_zone) {
  absl::string_view rest = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  if (absl::ConsumePrefix(&rest, "every ")) {
    absl::StatusOr<absl::Duration> interval = ParseInterval(rest);
    if (!interval.ok()) return Annotate(interval.status(), "schedule");
    return Schedule(*interval);
  }
  absl::TimeZone zone = absl::UTCTimeZone();
  const std::string zone_name(time_zone);
  if (!zone_name.empty() && !absl::LoadTimeZone(zone_name, &zone)) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: time zone '", zone_name, "' is not known; write for example Europe/Berlin"));
  }
  absl::StatusOr<Cron> cron = Cron::Parse(std::string_view(rest.data(), rest.size()), zone);
  if (!cron.ok()) return Annotate(cron.status(), "schedule: neither 'every 15m' nor five cron fields");
  return Schedule(*cron);
}

Schedule Schedule::WithSplay(std::string_view node, std::string_view benchmark, absl::Duration cap) const {
  // Neither name can hold a line feed, so no two pairs give the same text.
  const uint64_t hash = StableHash64(std::string(node) + "\n" + std::string(benchmark));
  const double share = static_cast<double>(hash >> 11) * 0x1p-53;  // in [0, 1)
  Schedule splayed = *this;
  splayed.splay_ = std::max(absl::ZeroDuration(), std::min(ShortestInterval(), cap)) * share;
  return splayed;
}

absl::Time Schedule::NextAfter(absl::Time time) const { return BaseNextAfter(time - splay_) + splay_; }

absl::Time Schedule::BaseNextAfter(absl::Time time) const {
  if (const Cron* cron = std::get_if<Cron>(&base_)) return cron->NextAfter(time);
  const absl::Duration interval = std::get<absl::Duration>(base_);
  const absl::Duration since = time - absl::UnixEpoch();
  return absl::UnixEpoch() + absl::Floor(since, interval) + interval;
}

absl::Duration Schedule::ShortestInterval() const {
  if (const auto* interval = std::get_if<absl::Duration>(&base_)) return *interval;
  absl::Duration shortest = absl::InfiniteDuration();
  absl::Time at = BaseNextAfter(absl::FromCivil(absl::CivilDay(2026, 1, 1), absl::UTCTimeZone()));
  for (int i = 0; i < 100 && at < absl::InfiniteFuture(); ++i) {
    const absl::Time next = BaseNextAfter(at);
    shortest = std::min(shortest, next - at);
    at = next;
  }
  return shortest;
}

}  // namespace fleetmark::agent
