// What an alert shows, made from its open findings. Its life is not touched.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_CONTENT_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_CONTENT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "collector/alert/alert_life.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

struct AlertLinks {
  std::string external_url;                     // of this collector's page; empty: no links
  std::map<std::string, std::string> runbooks;  // by class: "slow", …
};

// `node_labels`: of the node, where the findings have only one.
void FillAlert(absl::Span<const v1::Finding* const> findings,
               const std::map<std::string, std::string>& node_labels, const AlertLinks& links,
               v1::Alert* alert);

// Findings that are not among `findings` any more are marked closed. True when there was one.
bool CloseFindings(absl::Span<const v1::Finding* const> findings, v1::Alert* alert);

// Pending, firing or clear by the findings; `closed` is what the main finding says now if it is closed.
AlertCondition ConditionOf(absl::Span<const v1::Finding* const> findings, const v1::Alert& alert,
                           const std::string& closed);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_CONTENT_H_
