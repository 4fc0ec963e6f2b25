#include "common/plugin/catalog.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark {
namespace {

namespace fs = std::filesystem;

constexpr char kManifestName[] = "manifest.yaml";

absl::Status CheckExecutable(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) {
    return Annotate(ErrnoStatus(errno, path), "the program of 'command' is missing");
  }
  if (!S_ISREG(st.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a program but a folder or device"));
  if (access(path.c_str(), X_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is not executable; chmod +x makes it so"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindProgram(const std::string& program, const std::string& folder) {
  if (program.find('/') != std::string::npos) {
    const std::string path =
        absl::StartsWith(program, "/") ? program : absl::StrCat(folder, program.substr(1));
    FM_RETURN_IF_ERROR(CheckExecutable(path));
    return path;
  }
  const std::vector<std::string> places = absl::StrSplit(kPluginPath, ':');
  for (const std::string& place : places) {
    const std::string path = absl::StrCat(place, "/", program);
    if (CheckExecutable(path).ok()) return path;
  }
  return absl::NotFoundError(
      absl::StrCat("the program '", program, "' of 'command' is not in ", kPluginPath));
}

// A folder's name as one that the wire takes.
std::string WireName(const std::string& name) {
  std::string out = name.substr(0, limits::kNameBytes);
  for (char& c : out) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = '_';
  }
  if (!CheckIdentifier("name", out).ok()) out = absl::StrCat("x", out.substr(0, limits::kNameBytes - 1));
  return out;
}

std::string Clip(const std::string& text, size_t max_bytes) {
  bool repaired = false;
  std::string out = RepairUtf8(std::string_view(text).substr(0, max_bytes), &repaired);
  // A character cut in two became U+FFFD, which may be longer.
  while (out.size() > max_bytes) out.pop_back();
  while (!IsValidUtf8(out)) out.pop_back();
  return out;
}

}  // namespace

absl::StatusOr<InstalledPlugin> LoadPlugin(const std::string& folder) {
  std::error_code error;
  const fs::path absolute = fs::canonical(folder, error);
  if (error) return ErrnoStatus(error.value(), folder);
  InstalledPlugin plugin;
  plugin.folder = absolute.string();
  const std::string manifest_path = absl::StrCat(plugin.folder, "/", kManifestName);
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(manifest_path, limits::kManifestBytes));
  FM_ASSIGN_OR_RETURN(plugin.manifest, ParseManifest(text, manifest_path));
  const std::string name = fs::path(folder).lexically_normal().filename().string();
  if (plugin.manifest.name != name && plugin.manifest.name != absolute.filename().string()) {
    return absl::InvalidArgumentError(absl::StrCat(manifest_path, ": name '", plugin.manifest.name,
                                                   "' must be the folder's name, '",
                                                   absolute.filename().string(), "'"));
  }
  FM_ASSIGN_OR_RETURN(plugin.program, FindProgram(plugin.manifest.command.front(), plugin.folder));
  FM_ASSIGN_OR_RETURN(plugin.digest, DigestFolder(plugin.folder));
  return plugin;
}

std::shared_ptr<const Catalog> Catalog::Load(const std::vector<std::string>& paths) {
  auto catalog = std::make_shared<Catalog>();
  for (const std::string& path : paths) catalog->LoadPath(path);
  return catalog;
}

void Catalog::LoadPath(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(path, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name[0] != '.' && fs::exists(at->path() / kManifestName, ignored)) names.push_back(name);
  }
  if (error) notes_.push_back(absl::StrCat("plugin path ", path, ": ", error.message()));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) LoadFolder(absl::StrCat(path, "/", name), name);
}

void Catalog::LoadFolder(const std::string& folder, const std::string& name) {
  if (plugins_.size() + broken_.size() >= limits::kPluginsPerNode) {
    notes_.push_back(
        absl::StrCat(folder, ": left out, there are ", limits::kPluginsPerNode, " plugins already"));
    return;
  }
  absl::StatusOr<InstalledPlugin> plugin = LoadPlugin(folder);
  if (!plugin.ok()) {
    broken_.push_back({name, folder, Message(plugin.status())});
    return;
  }
  if (const InstalledPlugin* first = Find(plugin->manifest.name)) {
    notes_.push_back(
        absl::StrCat(folder, ": left out, '", first->manifest.name, "' is already in ", first->folder));
    return;
  }
  plugins_.push_back(*std::move(plugin));
}

const InstalledPlugin* Catalog::Find(std::string_view name) const {
  for (const InstalledPlugin& plugin : plugins_) {
    if (plugin.manifest.name == name) return &plugin;
  }
  return nullptr;
}

absl::StatusOr<const InstalledPlugin*> Catalog::Get(std::string_view name) const {
  if (const InstalledPlugin* plugin = Find(name)) return plugin;
  for (const BrokenPlugin& plugin : broken_) {
    if (plugin.name == name) {
      return absl::FailedPreconditionError(
          absl::StrCat("plugin '", plugin.name, "' can't be used: ", plugin.problem));
    }
  }
  std::vector<std::string> names;
  for (const InstalledPlugin& plugin : plugins_) names.push_back(plugin.manifest.name);
  std::sort(names.begin(), names.end());
  const std::string nearest = NearestName(name, names);
  std::string hint = absl::StrCat("; did you mean '", nearest, "'?");
  if (nearest.empty())
    hint =
        names.empty() ? std::string("; none is") : absl::StrCat("; there are ", absl::StrJoin(names, ", "));
  return absl::NotFoundError(
      absl::StrCat("plugin '", Clip(std::string(name), 80), "' is not installed", hint));
}

std::vector<v1::Plugin> Catalog::Describe() const {
  std::vector<v1::Plugin> described;
  for (const InstalledPlugin& plugin : plugins_) {
    v1::Plugin& out = described.emplace_back();
    out.set_name(plugin.manifest.name);
    out.set_version(plugin.manifest.version);
    out.set_digest(plugin.digest);
  }
  for (const BrokenPlugin& plugin : broken_) {
    v1::Plugin& out = described.emplace_back();
    out.set_name(WireName(plugin.name));
    out.set_problem(Clip(plugin.problem, limits::kReasonBytes));
  }
  return described;
}

}  // namespace fleetmark
