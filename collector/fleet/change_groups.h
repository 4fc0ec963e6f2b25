// From open findings of single series to findings about what changed together (fleet_shift.h).
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_CHANGE_GROUPS_H_
#define FLEETMARK_COLLECTOR_FLEET_CHANGE_GROUPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "collector/fleet/fleet_snapshot.h"
#include "collector/fleet/group_findings.h"

namespace fleetmark::collector {

struct ChangeGroups {
  std::vector<v1::Finding> changed;  // findings about several: opened, changed, closed
  // What each open finding of a single series belongs to now, where that is another group than its group_id;
  // empty: none.
  std::map<std::string, std::string> group_of;
};

// `open`: all open findings. A group stays as long as one of its members is open. `level` is the level of the
// budget at which a group of several nodes is tested.
ChangeGroups JoinOpenChanges(absl::Span<const v1::Finding> open, const FleetSnapshot& fleet,
                             int64_t now_unix_ns, double level);

// Is it about the level of one series, and can it belong to others?
bool IsChange(const v1::Finding& finding);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_CHANGE_GROUPS_H_
