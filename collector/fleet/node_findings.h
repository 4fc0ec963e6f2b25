// From silences and failures of single nodes to findings: what fell silent or fails together is one, with the
// fact that separates it from the rest.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_NODE_FINDINGS_H_
#define FLEETMARK_COLLECTOR_FLEET_NODE_FINDINGS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "collector/fleet/failures.h"
#include "collector/fleet/fleet_snapshot.h"
#include "collector/fleet/group_findings.h"
#include "collector/fleet/silence.h"

namespace fleetmark::collector {

std::vector<v1::Finding> SilenceFindings(absl::Span<const Silent> silent, const FleetSnapshot& fleet,
                                         absl::Span<const v1::Finding> open, int64_t now_unix_ns);

// A benchmark on a node that fails or takes longer, at a level of the budget that it is within.
struct Failing {
  std::string node;
  std::string benchmark;
  FailureVerdict verdict;
  double level = 0;
};

// `failing`: all that fails now, also what an open finding told before.
std::vector<v1::Finding> FailureFindings(absl::Span<const Failing> failing, const FleetSnapshot& fleet,
                                         absl::Span<const v1::Finding> open, int64_t now_unix_ns);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_NODE_FINDINGS_H_
