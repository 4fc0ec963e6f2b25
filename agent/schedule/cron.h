// Cron expressions: minute, hour, day of month, month, day of week; lists, ranges, steps, names (jan, mon),
// and @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually. As in cron(8), when both days are
// restricted, either is enough; a field that begins with '*' is not a restriction.
//
// Daylight saving: a local time that is skipped runs when the clocks go forward; one that comes twice runs
// the first time only.
//
// Thread-safety: immutable.
#ifndef FLEETMARK_AGENT_SCHEDULE_CRON_H_
#define FLEETMARK_AGENT_SCHEDULE_CRON_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace fleetmark::agent {

class Cron {
 public:
  // InvalidArgument names the field and says what is wrong with it.
  static absl::StatusOr<Cron> Parse(std::string_view text, absl::TimeZone zone);

  // The first time after `time`; InfiniteFuture when there is none within 41 years (30 February).
  absl::Time NextAfter(absl::Time time) const;

 private:
  bool MatchesDay(absl::CivilDay day) const;
  absl::Time At(absl::CivilMinute minute) const;

  // Bit n stands for the value n.
  uint64_t minutes_ = 0;
  uint64_t hours_ = 0;
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;  // 0 is Sunday
  bool any_day_ = false;   // the field begins with '*'
  bool any_weekday_ = false;
  absl::TimeZone zone_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SCHEDULE_CRON_H_
