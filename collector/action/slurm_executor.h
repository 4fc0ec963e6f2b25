// Drains a node in Slurm and resumes it.
//
// Slurm has no change under a condition: between the look and the drain or resume some milliseconds pass.
// What a person does in them shows in the look after it, and is then left as it is.
//
// Thread-safety, blocking, ownership: as ActionExecutor and SlurmClient.
#ifndef FLEETMARK_COLLECTOR_ACTION_SLURM_EXECUTOR_H_
#define FLEETMARK_COLLECTOR_ACTION_SLURM_EXECUTOR_H_

#include <string>

#include "collector/action/action_executor.h"
#include "collector/action/slurm_client.h"

namespace fleetmark::collector {

class SlurmExecutor final : public ActionExecutor {
 public:
  // `name_label`: the label of a node that gives its name in Slurm, where it has it; empty: the node's name.
  SlurmExecutor(SlurmClient& slurm, std::string name_label)
      : slurm_(slurm), name_label_(std::move(name_label)) {}

  std::string TargetOf(const ActionNode& node) const override { return NameThere(node, name_label_); }
  absl::StatusOr<NodesAway> Away() override;
  ActionResult Do(const v1::Action& action) override;
  ActionResult Check(const v1::Action& action) override;
  ActionResult Undo(const v1::Action& action) override;

 private:
  SlurmClient& slurm_;
  const std::string name_label_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_SLURM_EXECUTOR_H_
