#include "common/run/work_folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr int kMaxEntries = 100'000;
constexpr int kMaxLevels = 64;  // each is an open folder while it is looked at
constexpr int64_t kBlockBytes = 512;

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

bool TakesMoreThan(const std::string& path, int64_t max_bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  int64_t bytes = 0;
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
