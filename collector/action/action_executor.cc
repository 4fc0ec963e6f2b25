#include "collector/action/action_executor.h"

namespace fleetmark::collector {

std::string NameThere(const ActionNode& node, const std::string& name_label) {
  const auto it = node.labels.find(name_label);
  return name_label.empty() || it == node.labels.end() ? node.name : it->second;
}

}  // namespace fleetmark::collector
