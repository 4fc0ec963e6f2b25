#include "common/run/folder_seal.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr int kMaxFiles = 2000;  // more than DigestFolder takes
// A file that changes again within one tick of a file system's clock keeps its time: what changed just now
// is read again.
constexpr absl::Duration kSettled = absl::Seconds(3);

struct State {
  std::string text;  // of all files' identities
  absl::Time last_change;
};

absl::StatusOr<State> Look(const std::string& folder) {
  namespace fs = std::filesystem;
  State state;
  state.last_change = absl::UnixEpoch();
  std::vector<std::string> lines;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat st;
    if (lstat(at->path().c_str(), &st) != 0)
      return ErrnoStatus(errno, absl::StrCat("look at ", at->path().string()));
    if (lines.size() > kMaxFiles)
      return absl::ResourceExhaustedError(absl::StrCat(folder, " has too many files"));
    const absl::Time changed = absl::TimeFromTimespec(st.st_ctim);
    state.last_change = std::max(state.last_change, changed);
    lines.push_back(absl::StrCat(at->path().string(), " ", st.st_dev, " ", st.st_ino, " ", st.st_mode, " ",
                                 st.st_size, " ", absl::ToUnixNanos(absl::TimeFromTimespec(st.st_mtim)), " ",
                                 absl::ToUnixNanos(changed), "\n"));
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read folder ", folder));
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) state.text += line;
  return state;
}

}  // namespace

absl::Status FolderSeals::Check(const InstalledPlugin& plugin) {
  FM_ASSIGN_OR_RETURN(State state, Look(plugin.folder));
  {
    MutexLock lock(mu_);
    const auto seen = seen_.find(plugin.folder);
    if (seen != seen_.end() && seen->second.digest == plugin.digest && seen->second.state == state.text)
      return absl::OkStatus();
  }
  const absl::StatusOr<std::string> digest = DigestFolder(plugin.folder);
  if (!digest.ok()) return digest.status();
  if (*digest != plugin.digest) {
    return absl::FailedPreconditionError(
        "the plugin's files changed since the agent loaded them; SIGHUP takes them over");
  }
  if (state.last_change > clock_.Now() - kSettled) return absl::OkStatus();
  MutexLock lock(mu_);
  seen_[plugin.folder] = {plugin.digest, std::move(state.text)};
  return absl::OkStatus();
}

}  // namespace fleetmark
