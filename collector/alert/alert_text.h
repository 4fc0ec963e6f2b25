// What an alert says to people: one line, and the whole message with what, where, how much, since when, how
// sure, what changed then, who else, a sparkline, the page, and how to acknowledge. Times are in UTC.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_TEXT_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

// From its main finding: "n7: stream triad 12.0 % lower, 187.4 to 164.9 GB/s".
std::string AlertTitle(const v1::Alert& alert);

// The title with what became of it: "resolved: …", "still firing: …".
std::string NoticeTitle(const v1::Notice& notice);

// The parts of the message, each one line, without its heading; empty where there is nothing to say. These
// are the variables that templates may use (docs/alerts.md): title, state, reason, class, severity, what,
// subject, where, how_much, since, how_sure, changed, who_else, sparkline, also, url, runbook, ack, alert_id.
std::map<std::string, std::string> MessageParts(const v1::Notice& notice, absl::Time now);

// The whole message.
std::string MessageText(const v1::Notice& notice, absl::Time now);

// One character a value, from low to high; the values are joined to 40 at most by their medians.
std::string Sparkline(absl::Span<const double> values);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_TEXT_H_
