#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Removes one tree with two open folders, however deep it is: a folder in a folder is first moved up to the
// top, and so paths do not grow either.
class TreeRemover {
 public:
  explicit TreeRemover(int top) : top_(top) {}

  absl::Status Empty() {
    // What was moved up is seen by the next look.
    for (bool again = true; again;) {
      again = false;
      FM_RETURN_IF_ERROR(ForEach(top_, [&](const char* name) -> absl::Status {
        if (unlinkat(top_, name, 0) == 0) return absl::OkStatus();
        if (errno != EISDIR && errno != EPERM) return ErrnoStatus(errno, absl::StrCat("remove ", name));
        again = true;
        return RemoveFolder(name);
      }));
    }
    return absl::OkStatus();
  }

 private:
  template <typename Function>
  static absl::Status ForEach(int folder, const Function& function) {
    const int copy = openat(folder, ".", kFolderFlags);
    DIR* dir = copy < 0 ? nullptr : fdopendir(copy);
    if (dir == nullptr) return ErrnoStatus(errno, "read a folder");
    absl::Status status;
    while (status.ok()) {
      const dirent* entry = readdir(dir);
      if (entry == nullptr) break;
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
        status = function(entry->d_name);
    }
    closedir(dir);
    return status;
  }

  // A folder of the top one.
  absl::Status RemoveFolder(const char* name) {
    struct stat st;
    if (fstatat(top_, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      return ErrnoStatus(errno, absl::StrCat("look at ", name));
    if (!S_ISDIR(st.st_mode)) return ErrnoStatus(EPERM, absl::StrCat("remove ", name));
    if ((st.st_mode & S_IRWXU) != S_IRWXU) fchmodat(top_, name, S_IRWXU, 0);
    const UniqueFd folder(openat(top_, name, kFolderFlags));
    if (!folder.valid()) return ErrnoStatus(errno, absl::StrCat("open ", name));
    FM_RETURN_IF_ERROR(
        ForEach(folder.get(), [&](const char* child) { return RemoveOrMoveUp(folder.get(), child); }));
    if (unlinkat(top_, name, AT_REMOVEDIR) != 0) return ErrnoStatus(errno, absl::StrCat("remove ", name));
    return absl::OkStatus();
  }

  absl::Status RemoveOrMoveUp(int folder, const char* name) {
    if (unlinkat(folder, name, 0) == 0) return absl::OkStatus();
    if (errno != EISDIR && errno != EPERM) return ErrnoStatus(errno, absl::StrCat("remove ", name));
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return absl::OkStatus();
    // To move a folder is to write to it.
    fchmodat(folder, name, S_IRWXU, 0);
    for (int tries = 0; tries < 1000; ++tries) {
      const std::string moved = absl::StrCat(".removed-", next_++);
      // In place of an empty folder of that name, if there is one; that is no loss.
      if (renameat(folder, name, top_, moved.c_str()) == 0) return absl::OkStatus();
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) break;
    }
    return ErrnoStatus(errno, absl::StrCat("move ", name));
  }

  const int top_;
  int next_ = 0;
};

}  // namespace

absl::Status RemoveTree(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  const int error = errno;
  chmod(path.c_str(), S_IRWXU);
  const UniqueFd top(open(path.c_str(), kFolderFlags));
  // A read-only file system says so even of what is not there.
  const bool no_folder = errno == ENOTDIR || errno == ENOENT;
  if (!top.valid()) return ErrnoStatus(no_folder ? error : errno, absl::StrCat("remove ", path));
  FM_RETURN_IF_ERROR(Annotate(TreeRemover(top.get()).Empty(), absl::StrCat("remove ", path)));
  if (rmdir(path.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("remove ", path));
  return absl::OkStatus();
}

}  // namespace fleetmark
