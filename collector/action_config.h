// The section `actions` of the collector's configuration: what is done to nodes because of alerts, and within
// which limits.
//
// Thread-safety: plain data. Errors: noted in the YamlValue's reader.
#ifndef FLEETMARK_COLLECTOR_ACTION_CONFIG_H_
#define FLEETMARK_COLLECTOR_ACTION_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/action/action_policy.h"
#include "collector/action/command_executor.h"
#include "collector/action/kube_client.h"
#include "collector/action/slurm_client.h"
#include "common/config/yaml_reader.h"
#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

struct ActionRuleConfig {
  std::string name;
  v1::ActionKind kind = v1::ACTION_KIND_UNSPECIFIED;
  std::map<std::string, std::string> match;  // labels of alerts
  CommandExecutor::Options command;          // of kind command
};

struct ActionsConfig {
  bool enabled = false;
  bool dry_run = true;
  ActionLimits limits;
  EvidenceNeeded evidence;
  absl::Duration settle;
  absl::Duration recover_after;
  absl::Duration interval;
  SlurmClient::Options slurm;
  std::string slurm_name_label;  // of a node: its name in Slurm, where it is another
  KubeClient::Options kubernetes;
  std::string kubernetes_name_label;
  std::vector<ActionRuleConfig> rules;
};

// `folder`: where relative paths start.
ActionsConfig ReadActions(YamlValue section, const std::string& folder);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_CONFIG_H_
