// The plugins that are installed on this machine.
//
// Thread-safety: a Catalog never changes; it is shared between threads as std::shared_ptr<const Catalog>
// and replaced whole. Loading blocks: it reads every file of every plugin.
#ifndef FLEETMARK_COMMON_PLUGIN_CATALOG_H_
#define FLEETMARK_COMMON_PLUGIN_CATALOG_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "common/plugin/manifest.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

// PATH of every plugin.
inline constexpr char kPluginPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct InstalledPlugin {
  PluginManifest manifest;
  std::string folder;   // absolute
  std::string program;  // absolute path of the manifest's command
  std::string digest;   // see DigestFolder
};

struct BrokenPlugin {
  std::string name;  // of the folder
  std::string folder;
  std::string problem;
};

class Catalog {
 public:
  // Looks at every folder with a manifest.yaml directly below `paths`. Never fails: a plugin that can't be
  // used is listed as broken, a path that can't be read is a note. Of two plugins of one name the first
  // path's is used.
  static std::shared_ptr<const Catalog> Load(const std::vector<std::string>& paths);

  const std::vector<InstalledPlugin>& plugins() const { return plugins_; }
  const std::vector<BrokenPlugin>& broken() const { return broken_; }
  const std::vector<std::string>& notes() const { return notes_; }

  const InstalledPlugin* Find(std::string_view name) const;

  // NotFound, naming the nearest plugin, or FailedPrecondition with its problem.
  absl::StatusOr<const InstalledPlugin*> Get(std::string_view name) const;

  // All of them for the wire, within limits::kPluginsPerNode; usable ones first.
  std::vector<v1::Plugin> Describe() const;

 private:
  void LoadPath(const std::string& path);
  void LoadFolder(const std::string& folder, const std::string& name);

  std::vector<InstalledPlugin> plugins_;
  std::vector<BrokenPlugin> broken_;
  std::vector<std::string> notes_;
};

// One plugin's folder. InvalidArgument for a bad manifest or a folder of another name than the plugin;
// NotFound or PermissionDenied for its program; ResourceExhausted as DigestFolder.
absl::StatusOr<InstalledPlugin> LoadPlugin(const std::string& folder);

// Hex SHA-256 over names, executable bits and contents of all files below `folder`, in the order of their
// names; a symbolic link counts as its target's name. ResourceExhausted above 1,000 files or 256 MiB;
// InvalidArgument for a device, socket or pipe.
absl::StatusOr<std::string> DigestFolder(const std::string& folder);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_PLUGIN_CATALOG_H_
