// What the engine of actions is given: rules, limits, and where alerts, findings and nodes come from.
//
// Thread-safety: plain data. Ownership: what it points to outlives the engine.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_OPTIONS_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_OPTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/action/action_executor.h"
#include "collector/action/action_policy.h"
#include "fleetmark/v1/action.pb.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class ActionBook;

using AlertPtr = std::shared_ptr<const v1::Alert>;

struct ActionRule {
  std::string name;
  v1::ActionKind kind = v1::ACTION_KIND_UNSPECIFIED;
  std::map<std::string, std::string> match;  // labels of alerts, as routes have them
  ActionExecutor* executor = nullptr;
};

struct ActionOptions {
  ActionBook* book = nullptr;
  Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  bool enabled = false;
  bool dry_run = false;
  ActionLimits limits;
  EvidenceNeeded evidence;
  absl::Duration settle = absl::Minutes(10);         // how long an alert must have fired
  absl::Duration recover_after = absl::Minutes(30);  // how long nothing must be wrong with the node
  std::vector<ActionRule> rules;
  // Those that are not resolved, or were not long ago.
  std::function<std::vector<AlertPtr>()> alerts;
  std::function<absl::StatusOr<v1::Finding>(const std::string& finding_id)> finding;
  // `healthy` says here whether the node can be heard of.
  std::function<absl::StatusOr<std::vector<ActionNode>>()> nodes;
  absl::Duration interval = absl::Seconds(15);
  absl::Duration retry_refused = absl::Hours(1);
  absl::Duration keep_ended = absl::Hours(24 * 730);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_OPTIONS_H_
