// Acts on nodes because of alerts: a thread that looks every few seconds at what fires, decides by pure
// functions (action_policy.h) within the caps, writes what it is about to do, has it done
// (action_executor.h), looks after what it did, and takes it back once the node is well again.
//
// Nothing is done that is not in the record first, so that a crash at any moment leaves no node held that the
// collector does not know for its own. What somebody else changed meanwhile is left to them for good.
//
// Thread-safety: all methods, any thread. Ownership: what Options points to must outlive it; the destructor
// stops the thread. Errors: those of the store; a pass that fails is made again.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_ENGINE_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_ENGINE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/action/action_book.h"
#include "collector/action/action_executor.h"
#include "collector/action/action_policy.h"
#include "fleetmark/v1/action.pb.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class ActionEngine {
 public:
  struct Rule {
    std::string name;
    v1::ActionKind kind = v1::ACTION_KIND_UNSPECIFIED;
    std::map<std::string, std::string> match;  // labels of alerts, as routes have them
    ActionExecutor* executor = nullptr;
  };

  struct Options {
    ActionBook* book = nullptr;
    Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    bool enabled = false;
    bool dry_run = false;
    ActionLimits limits;
    EvidenceNeeded evidence;
    absl::Duration settle = absl::Minutes(10);         // how long an alert must have fired
    absl::Duration recover_after = absl::Minutes(30);  // how long nothing must be wrong with the node
    std::vector<Rule> rules;
    // Those that are not resolved, or were not long ago.
    std::function<std::vector<std::shared_ptr<const v1::Alert>>()> alerts;
    std::function<absl::StatusOr<v1::Finding>(const std::string& finding_id)> finding;
    // `healthy` says here whether the node can be heard of.
    std::function<absl::StatusOr<std::vector<ActionNode>>()> nodes;
    absl::Duration interval = absl::Seconds(15);
    absl::Duration retry_refused = absl::Hours(1);
    absl::Duration keep_ended = absl::Hours(24 * 730);
  };

  explicit ActionEngine(Options options);
  ~ActionEngine();
  ActionEngine(const ActionEngine&) = delete;
  ActionEngine& operator=(const ActionEngine&) = delete;

  void Start();
  // After the call to another system that is under way.
  void Stop();
  // One pass in the calling thread, while not started.
  absl::Status RunOnce();

  // The configuration's switch, as a changed file has it.
  void SetEnabled(bool enabled);
  bool enabled() const;
  bool dry_run() const;

  // As of the last look: what was not done, and why nothing was decided at all.
  std::vector<v1::ActionHeldBack> HeldBack() const;
  std::string Trouble() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_ENGINE_H_
