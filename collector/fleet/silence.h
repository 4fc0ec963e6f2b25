// What should have come and did not: agents that are gone, and benchmarks of the plan without any result.
// These are facts, not estimates: they need no test and cost nothing of the budget of false alarms.
//
// Any record of a run counts as heard, also one that says "skipped" or "cancelled". A benchmark whose agent
// says why it waits (the node is in use, the budget is spent) is silent only after `patience`.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_SILENCE_H_
#define FLEETMARK_COLLECTOR_FLEET_SILENCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

#include "collector/fleet/explanation.h"

namespace fleetmark::collector {

struct PlannedBenchmark {
  std::string name;
  std::string schedule;        // "every 15m", or five cron fields
  absl::Duration splay;        // zero: the schedule's own
  absl::Time last_run;         // InfinitePast: never
  absl::Time known_since;      // since when it is known to be in the plan
  absl::Duration longest_gap;  // between its last runs; zero: not known
};

struct NodeActivity {
  std::string node;
  bool connected = false;
  absl::Time last_seen;
  std::string waits_for;                     // why what is due has not started; empty: nothing waits
  std::vector<PlannedBenchmark> benchmarks;  // those that are enabled
};

struct SilenceOptions {
  absl::Duration gone_after = absl::Minutes(15);
  absl::Duration forgotten_after =
      absl::Hours(24 * 14);                       // a node that is gone for longer is no part of the fleet
  double intervals = 3;                           // without a result
  absl::Duration grace = absl::Minutes(15);       // beyond that
  absl::Duration patience = absl::Hours(24 * 7);  // with an agent that says why it waits
};

struct Silent {
  std::string node;
  std::string benchmark;  // empty: the agent is gone
  absl::Time since;       // the last sign of life
  std::string text;
};

// How often a schedule is due: of "every"; for cron, the longest gap that was seen, or else nine days.
absl::Duration ExpectedInterval(const PlannedBenchmark& benchmark);

// `watching_since`: when the collector began to listen; nothing is silent because nobody listened.
std::vector<Silent> JudgeSilence(const NodeActivity& node, absl::Time watching_since, absl::Time now,
                                 const SilenceOptions& options = {});

// Those that fell silent together: agents that went within ten minutes of one another, the nodes on which one
// benchmark is silent. Indices into `silent`.
std::vector<std::vector<size_t>> JoinSilences(absl::Span<const Silent> silent);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_SILENCE_H_
