#include "common/run/work_folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr int kMaxEntries = 100'000;
constexpr int kMaxLevels = 64;  // each is an open folder while it is looked at
constexpr int64_t kBlockBytes = 512;
constexpr int kMaxDescriptors = 20'000;  // looked at, of all processes together

namespace fs = std::filesystem;

// The disk space of open files on `device` that were deleted, or never had a name: a plugin can fill a disk
// with them as well.
int64_t NamelessBytes(const std::vector<pid_t>& processes, dev_t device) {
  std::set<ino_t> seen;
  int64_t bytes = 0;
  int looked_at = 0;
  for (pid_t pid : processes) {
    std::error_code error;
    fs::directory_iterator at(absl::StrCat("/proc/", pid, "/fd"), error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      if (++looked_at > kMaxDescriptors) return bytes;
      struct stat st;
      if (stat(at->path().c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0) continue;
      if (st.st_dev == device && seen.insert(st.st_ino).second) bytes += st.st_blocks * kBlockBytes;
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<WorkFolder> WorkFolder::Make(const std::string& path, const std::optional<RunUser>& user) {
  if (mkdir(path.c_str(), 0700) != 0) return ErrnoStatus(errno, absl::StrCat("make working folder ", path));
  WorkFolder folder(path);
  if (user.has_value() && chown(path.c_str(), user->uid, user->gid) != 0) {
    return ErrnoStatus(errno, absl::StrCat("give away working folder ", path));
  }
  return folder;
}

absl::Status WorkFolder::Remove() {
  if (path_.empty()) return absl::OkStatus();
  return RemoveTree(std::exchange(path_, ""));
}

bool TakesMoreThan(const std::string& path, int64_t max_bytes, const std::vector<pid_t>& processes) {
  struct stat top;
  if (stat(path.c_str(), &top) != 0) return false;
  int64_t bytes = NamelessBytes(processes, top.st_dev);
  if (bytes > max_bytes) return true;
  std::error_code error;
  int entries = 0;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  // What vanishes while it is looked at ends the look; the next one sees the rest.
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat st;
    if (lstat(at->path().c_str(), &st) == 0) bytes += st.st_blocks * kBlockBytes;
    if (bytes > max_bytes || ++entries > kMaxEntries || at.depth() >= kMaxLevels) return true;
  }
  return false;
}

}  // namespace fleetmark
