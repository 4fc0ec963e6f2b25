#include "collector/alert/alert_matching.h"

#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_life.h"

namespace fleetmark::collector {

void AlertMatching::Know(const v1::Alert& alert, bool may_grow) {
  const bool open = !IsResolved(alert.life());
  for (const v1::AlertFinding& finding : alert.findings()) {
    if (open) {
      by_finding_[finding.finding_id()] = alert.alert_id();
    } else {
      by_finding_.emplace(finding.finding_id(), alert.alert_id());
    }
  }
  if (!may_grow) return;
  if (open) {
    by_cause_[alert.cause()] = alert.alert_id();
  } else {
    by_cause_.emplace(alert.cause(), alert.alert_id());
  }
}

FindingsByAlert AlertMatching::Match(absl::Span<const v1::Finding> open,
                                     const std::function<std::string()>& new_id) {
  FindingsByAlert out;
  for (const v1::Finding& finding : open) {
    if (finding.direction() != v1::Finding::DIRECTION_WORSE) continue;
    const auto known = by_finding_.find(finding.finding_id());
    if (known != by_finding_.end()) {
      out[known->second].push_back(&finding);
      continue;
    }
    const AlertCause cause = CauseOf(finding);
    if (!finding.group_id().empty() || cause.standing == AlertCause::kNone) continue;
    const auto same = by_cause_.find(cause.key);
    const std::string id = same != by_cause_.end() ? same->second : new_id();
    by_cause_.emplace(cause.key, id);
    out[id].push_back(&finding);
  }
  return out;
}

}  // namespace fleetmark::collector
