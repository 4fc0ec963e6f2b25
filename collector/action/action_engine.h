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

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "collector/action/action_options.h"
#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

class ActionEngine {
 public:
  using Options = ActionOptions;

  explicit ActionEngine(Options options);
  ~ActionEngine();
  ActionEngine(const ActionEngine&) = delete;
  ActionEngine& operator=(const ActionEngine&) = delete;

  void Start();
  // After the call to another system that is under way.
  void Stop();
  // One pass in the calling thread, while not started.
  absl::Status RunOnce();

  // A person wants this action taken back, by its id or the last characters of it: at the next look, which
  // is at once. A request that a restart overtakes is lost. NotFound; FailedPrecondition says what is in the
  // way.
  absl::Status TakeBack(const std::string& id, const std::string& by);

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
