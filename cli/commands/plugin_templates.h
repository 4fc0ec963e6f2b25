// The files of a new plugin, for each language that `plugin new` knows. They measure something real, so
// that the author begins with a plugin that works and changes it step by step.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_CLI_COMMANDS_PLUGIN_TEMPLATES_H_
#define FLEETMARK_CLI_COMMANDS_PLUGIN_TEMPLATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::cli {

struct PluginFile {
  std::string name;
  std::string content;
  bool executable = false;
};

// InvalidArgument for a language other than sh, python and cpp.
absl::StatusOr<std::vector<PluginFile>> PluginFiles(const std::string& name, const std::string& language);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_PLUGIN_TEMPLATES_H_
