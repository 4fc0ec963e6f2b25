// The life of one alert as a machine: from what is known of its cause, its mutes and its receivers, and the
// time, to its next state, the entries of its history, and the notices that are due. It reads no clock and no
// store, so that any life can be replayed.
//
//            pending ──not confirmed──► resolved
//               │ confirmed                ▲  │ again within `reopen_within`: the same alert
//               ▼                          │  ▼
//   muted ► silenced ◄──► firing ──clear for `resolve_after`
//                           ▲ │ acknowledged by a person, until it is resolved
//                           │ ▼
//                       acknowledged
//
// Rules that hold whatever comes, and in whatever order:
//   - A firing is told to a receiver once, after `wait`, unless it is muted, acknowledged, or already going
//     away; what is still so when that ends is told then.
//   - Who was told of a firing is told that it is resolved, once, also while it is muted; nobody else is.
//   - Repeats come `repeat` apart, and only while it is neither muted nor acknowledged; what has grown much
//     is told at most every `update_interval`, also when it is acknowledged.
//   - Times that lie ahead, as after a step of the clock, count as now: nothing waits for the clock to come
//     back.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_LIFE_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_LIFE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

struct AlertPolicy {
  // From firing to the first notice, so that what belongs together is told together.
  absl::Duration wait = absl::Seconds(90);
  absl::Duration repeat = absl::Hours(24);
  absl::Duration update_interval = absl::Minutes(5);
  absl::Duration resolve_after = absl::Minutes(10);
  absl::Duration reopen_within = absl::Hours(24);
  // Reopened so often within `reopen_within`, it flaps: then it is resolved only after `flap_quiet`.
  int flap_reopenings = 3;
  absl::Duration flap_quiet = absl::Hours(6);
  // How long a confirmation is waited for, when the node has no time for it.
  absl::Duration pending_limit = absl::Hours(24);
};

// What is known of an alert's cause at one time.
struct AlertCondition {
  enum Kind { kClear, kPending, kFiring } kind = kClear;
  std::string why_clear;  // of kClear: for the history
  uint32_t size = 1;      // how much it is about: nodes
  v1::AlertSeverity severity = v1::ALERT_SEVERITY_WARNING;
  bool whole = false;  // it is known to be about all that belongs together: no wait
  std::vector<v1::AlertMute> mutes;
  std::vector<std::string> receivers;  // that are to know, at this time of day
  absl::Duration escalate_after;       // zero: never
  std::vector<std::string> escalate_to;
};

struct DueNotice {
  uint64_t number = 0;  // of the alert's notices: 1, 2, …
  v1::Notice::Reason reason = v1::Notice::REASON_UNSPECIFIED;
  std::vector<std::string> receivers;
};

struct AlertStep {
  std::vector<v1::AlertChange> changes;  // numbered and stamped
  std::vector<DueNotice> notices;        // in the order in which they are to be sent
};

// Moves `life` on. A life without a state begins: it must then be pending or firing.
AlertStep StepAlert(const AlertCondition& condition, const AlertPolicy& policy, absl::Time now,
                    v1::AlertLife* life);

// FailedPrecondition when it is resolved already, or not acknowledged when that is to be undone.
absl::Status AcknowledgeAlert(const v1::Acknowledgement& by, absl::Time now, v1::AlertLife* life,
                              AlertStep* step);
absl::Status UnacknowledgeAlert(const std::string& by, absl::Time now, v1::AlertLife* life, AlertStep* step);

// An entry of the history that changes nothing.
void NoteInHistory(v1::AlertChange::Kind kind, const std::string& by, const std::string& text, absl::Time now,
                   v1::AlertLife* life, AlertStep* step);

// May what was resolved go on as the same alert?
bool MayReopen(const v1::AlertLife& life, const AlertPolicy& policy, absl::Time now);

inline bool IsResolved(const v1::AlertLife& life) {
  return life.state() == v1::AlertLife::STATE_RESOLVED || life.state() == v1::AlertLife::STATE_UNSPECIFIED;
}
// Firing, whether muted or acknowledged.
inline bool IsFiring(const v1::AlertLife& life) {
  return !IsResolved(life) && life.state() != v1::AlertLife::STATE_PENDING;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_LIFE_H_
