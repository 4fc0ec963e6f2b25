// A site's own program that takes a node out of use and gives it back (docs/actions.md, "Your own program").
//
// It is called with one JSON object on standard input, for each step (do, check, undo), and answers by its
// exit status: 0 done, 76 somebody else has the node in hand, 75 try again later; anything else refuses a
// `do`, and has a `check` or `undo` repeated. The first line of its output is told to people.
//
// Thread-safety: as ActionExecutor; `cancel` from any thread. Blocks: each step for Options::timeout and two
// seconds at most. Ownership: runner and cancel must outlive it.
#ifndef FLEETMARK_COLLECTOR_ACTION_COMMAND_EXECUTOR_H_
#define FLEETMARK_COLLECTOR_ACTION_COMMAND_EXECUTOR_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "collector/action/action_executor.h"
#include "common/run/cancel_token.h"
#include "common/run/runner.h"

namespace fleetmark::collector {

class CommandExecutor final : public ActionExecutor {
 public:
  struct Options {
    std::vector<std::string> command;  // program, absolute, and arguments
    absl::Duration timeout = absl::Seconds(30);
    std::string name_label;  // of a node: the name that the program is told, where it has it
  };

  CommandExecutor(Options options, Runner& runner, CancelToken& cancel)
      : options_(std::move(options)), runner_(runner), cancel_(cancel) {}

  std::string TargetOf(const ActionNode& node) const override { return NameThere(node, options_.name_label); }
  // It is not asked: what it holds shows in `check`.
  absl::StatusOr<NodesAway> Away() override { return NodesAway(); }
  ActionResult Do(const v1::Action& action) override { return Run("do", action, ActionResult::kRefused); }
  ActionResult Check(const v1::Action& action) override { return Run("check", action, ActionResult::kAgain); }
  ActionResult Undo(const v1::Action& action) override { return Run("undo", action, ActionResult::kAgain); }

 private:
  // `otherwise`: what an unknown exit status means.
  ActionResult Run(const char* step, const v1::Action& action, ActionResult::Kind otherwise);

  const Options options_;
  Runner& runner_;
  CancelToken& cancel_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_COMMAND_EXECUTOR_H_
