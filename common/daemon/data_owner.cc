#include "common/daemon/data_owner.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark {

absl::Status BecomeOwner(const std::string& data_dir) {
  struct stat status = {};
  if (geteuid() != 0 || stat(data_dir.c_str(), &status) != 0 || status.st_uid == 0) return absl::OkStatus();
  if (setgroups(0, nullptr) != 0 || setgid(status.st_gid) != 0 || setuid(status.st_uid) != 0) {
    return ErrnoStatus(errno, absl::StrCat("become the owner of ", data_dir));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark
