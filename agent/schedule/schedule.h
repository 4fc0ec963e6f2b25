// When a benchmark is due: "every 15m", or a cron expression in a time zone; with a splay that is the same
// for a node and a benchmark for ever and spreads nodes evenly.
//
// Intervals are aligned to 1970-01-01 UTC, so that a restart does not shift them.
//
// Thread-safety: immutable.
#ifndef FLEETMARK_AGENT_SCHEDULE_SCHEDULE_H_
#define FLEETMARK_AGENT_SCHEDULE_SCHEDULE_H_

#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "agent/schedule/cron.h"

namespace fleetmark::agent {

class Schedule {
 public:
  // `time_zone` is an IANA name for cron; empty is UTC. InvalidArgument says what is wrong and what would
  // be right. Intervals are from one second to 366 days.
  static absl::StatusOr<Schedule> Parse(std::string_view text, std::string_view time_zone = "");

  // This schedule, each time later by an offset in [0, min(shortest interval, cap)), which depends on both
  // names alone.
  Schedule WithSplay(std::string_view node, std::string_view benchmark, absl::Duration cap) const;

  // The first time after `time`; InfiniteFuture if never.
  absl::Time NextAfter(absl::Time time) const;

  // The shortest time between two runs; of cron, among the next hundred after 2026 began.
  absl::Duration ShortestInterval() const;

  absl::Duration splay() const { return splay_; }

 private:
  explicit Schedule(absl::Duration interval) : base_(interval) {}
  explicit Schedule(Cron cron) : base_(cron) {}
  absl::Time BaseNextAfter(absl::Time time) const;

  std::variant<absl::Duration, Cron> base_;
  absl::Duration splay_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SCHEDULE_SCHEDULE_H_
