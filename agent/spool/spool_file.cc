#include "agent/spool/spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr char kAsideInfix[] = ".corrupt-";

// Damaged files may be large, so only the newest is worth its space.
void RemoveEarlierDamagedFiles(const std::string& folder, const std::string& prefix) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    if (absl::StartsWith(entry->d_name, prefix)) unlinkat(dirfd(dir), entry->d_name, 0);
  }
  closedir(dir);
}

// The database goes first, for certain: without its write-ahead log it could pass for sound and be an older
// state, whose numbers would be given out again. The log goes along, as it must not be applied to the next
// one.
absl::Status MoveAside(const std::string& folder, const std::string& path, const std::string& aside) {
  if (rename(path.c_str(), aside.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("rename ", path));
  const UniqueFd dir(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid() || fsync(dir.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", folder));
  for (const char* suffix : {"-wal", "-journal"}) {
    if (rename(absl::StrCat(path, suffix).c_str(), absl::StrCat(aside, suffix).c_str()) != 0 &&
        errno != ENOENT) {
      return ErrnoStatus(errno, absl::StrCat("rename ", path, suffix));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareFolder(const std::string& folder, const std::string& file) {
  FM_RETURN_IF_ERROR(MakeFolders(folder, 0750));
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) return ErrnoStatus(errno, folder);
  if (access(file.c_str(), F_OK) == 0 && access(file.c_str(), R_OK | W_OK) != 0)
    return ErrnoStatus(errno, file);
  return absl::OkStatus();
}

// A database that is empty while its write-ahead log is not has lost what it held: SQLite would begin
// a new one without a word.
absl::Status CheckNotEmptied(const std::string& path) {
  struct stat database {};
  struct stat log {};
  const bool empty = stat(path.c_str(), &database) == 0 && database.st_size == 0;
  if (empty && stat(absl::StrCat(path, "-wal").c_str(), &log) == 0 && log.st_size > 0) {
    return absl::DataLossError(absl::StrCat(path, " is empty, and its write-ahead log is not"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SetAside(const std::string& path, absl::Time now) {
  const std::filesystem::path file = path;
  const std::string folder = file.parent_path().string();
  RemoveEarlierDamagedFiles(folder, absl::StrCat(file.filename().string(), kAsideInfix));
  const std::string aside = absl::StrCat(path, kAsideInfix, absl::ToUnixSeconds(now));
  FM_RETURN_IF_ERROR(MoveAside(folder, path, aside));
  return aside;
}

}  // namespace fleetmark::agent
