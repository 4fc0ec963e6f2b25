#include "common/run/cgroup_layout.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "common/base/file.h"

namespace fleetmark {
namespace {

constexpr size_t kProcFileBytes = 4 * 1024 * 1024;

struct Mount {
  std::string root;  // the cgroup that is mounted
  std::string folder;
  std::string type;
  std::vector<std::string> options;
};

// Mountinfo writes blanks and backslashes as three octal digits.
std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<Mount> CgroupMounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (absl::string_view line : absl::StrSplit(absl::string_view(mountinfo.data(), mountinfo.size()), '\n')) {
    // "36 35 98:0 root folder options optional… - type source superoptions"
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<absl::string_view> left = absl::StrSplit(halves[0], ' ');
    const std::vector<absl::string_view> right = absl::StrSplit(halves[1], ' ');
    if (left.size() < 6 || right.size() < 3 || !absl::StartsWith(right[0], "cgroup")) continue;
    mounts.push_back(
        {Unescape(left[3]), Unescape(left[4]), std::string(right[0]), absl::StrSplit(right[2], ',')});
  }
  return mounts;
}

// The folder of cgroup `path` in `mount`.
std::string FolderOf(const Mount& mount, absl::string_view path) {
  absl::string_view below = path;
  if (mount.root != "/" && absl::StartsWith(path, mount.root)) below = path.substr(mount.root.size());
  std::string folder = absl::StrCat(mount.folder, below);
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  // A container's mount may show less than the path says.
  if (absl::StrContains(below, "..") || access(folder.c_str(), F_OK) != 0) return mount.folder;
  return folder;
}

}  // namespace

CgroupLayout ParseCgroupLayout(std::string_view mountinfo, std::string_view cgroup) {
  const std::vector<Mount> mounts = CgroupMounts(mountinfo);
  CgroupLayout layout;
  for (absl::string_view line : absl::StrSplit(absl::string_view(cgroup.data(), cgroup.size()), '\n')) {
    // "hierarchy:controllers:path", without controllers for version 2
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (const Mount& mount : mounts) {
      if (parts[1].empty()) {
        if (mount.type == "cgroup2") layout.unified = {mount.folder, FolderOf(mount, parts[2])};
        continue;
      }
      for (absl::string_view controller : absl::StrSplit(parts[1], ',')) {
        if (mount.type == "cgroup" &&
            std::find(mount.options.begin(), mount.options.end(), controller) != mount.options.end()) {
          layout.old[std::string(controller)] = {mount.folder, FolderOf(mount, parts[2])};
        }
      }
    }
  }
  return layout;
}

CgroupLayout OwnCgroupLayout() {
  return ParseCgroupLayout(ReadFile("/proc/self/mountinfo", kProcFileBytes).value_or(""),
                           ReadFile("/proc/self/cgroup", kProcFileBytes).value_or(""));
}

std::vector<std::string> WithAncestors(const CgroupPlace& place) {
  std::vector<std::string> folders;
  std::string folder = place.own;
  while (folder.size() > place.mount.size()) {
    folders.push_back(folder);
    folder.erase(folder.rfind('/'));
  }
  if (!place.mount.empty()) folders.push_back(place.mount);
  return folders;
}

}  // namespace fleetmark
