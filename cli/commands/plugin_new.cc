#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "cli/commands/plugin_templates.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::cli {
namespace {

std::string NextSteps(const std::string& folder, const std::string& language) {
  std::string text = absl::StrCat("\nNext:\n");
  if (language == "cpp") absl::StrAppend(&text, "  make -C ", folder, "\n");
  absl::StrAppend(&text, "  fleetmark plugin check ", folder, "\n",
                  "then change it to measure what you want, and add the folder that holds it to the agent's "
                  "`plugin_paths`.");
  return text;
}

}  // namespace

CommandResult MakePlugin(const PluginNewOptions& options, const Output& output) {
  FM_RETURN_IF_ERROR(CheckIdentifier("plugin name", options.name));
  FM_ASSIGN_OR_RETURN(const std::vector<PluginFile> files, PluginFiles(options.name, options.language));
  const std::string folder = (std::filesystem::path(options.folder) / options.name).string();
  struct stat there = {};
  if (stat(folder.c_str(), &there) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(folder, " is there already and is left as it is; choose another name or --dir"));
  }
  FM_RETURN_IF_ERROR(MakeFolders(folder));
  for (const PluginFile& file : files) {
    const std::string path = absl::StrCat(folder, "/", file.name);
    FM_RETURN_IF_ERROR(ReplaceFile(path, file.content, file.executable ? 0755 : 0644));
    output.Say("wrote " + path);
  }
  output.Say(NextSteps(folder, options.language));
  return kExitOk;
}

}  // namespace fleetmark::cli
