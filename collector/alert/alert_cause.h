// From findings to causes: which finding may be an alert, what the alert is about, and which findings are one
// alert.
//
// An alert has one class and one subject: what is slow on a node (or on one of its devices), whatever
// benchmarks show it and whatever detection found it, is one alert; so is a fact that separates many nodes.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_CAUSE_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_CAUSE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/alert.pb.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

struct AlertCause {
  enum Standing { kNone, kPending, kConfirmed } standing = kNone;  // kNone: it is no alert
  std::string key;                                                 // findings with the same key are one alert
  v1::AlertClass alert_class = v1::ALERT_CLASS_UNSPECIFIED;
  std::string subject;  // "node n7", "device gpu3 of n7", "gpu.driver 570.124"
};

AlertCause CauseOf(const v1::Finding& finding);

// The nodes that a finding lists, and how many it is about.
std::set<std::string> NodesOf(const v1::Finding& finding);
uint32_t NodeCountOf(const v1::Finding& finding);
// The benchmarks that show it.
std::set<std::string> BenchmarksOf(const v1::Finding& finding);

// Stated in docs/alerts.md: critical from 30 % on, or from ten nodes on; info below 3 %; else a warning.
v1::AlertSeverity SeverityOf(v1::AlertClass alert_class, const v1::Finding& main, uint32_t nodes);

// The one that an alert shows: confirmed before pending, about more nodes, then the larger change.
const v1::Finding* MainOf(absl::Span<const v1::Finding* const> findings);

// What routes, silences and Alertmanager tell the alert by: alertname, class, severity, subject; node,
// device, benchmark and metric where all of it has only one; the node's own labels (in Prometheus' alphabet).
std::map<std::string, std::string> LabelsOf(const v1::Alert& alert,
                                            absl::Span<const v1::Finding* const> findings,
                                            const std::map<std::string, std::string>& node_labels);

// "FleetmarkSlow", …
std::string AlertName(v1::AlertClass alert_class);
// "slow", …
std::string ClassName(v1::AlertClass alert_class);
// "warning", …
std::string SeverityName(v1::AlertSeverity severity);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_CAUSE_H_
