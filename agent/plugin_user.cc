#include "agent/plugin_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr char kOwnUser[] = "fleetmark-run";
constexpr char kOtherwise[] = "nobody";
constexpr size_t kEntryBytes = 64 * 1024;

// Nothing when there is no such user.
std::optional<RunUser> LookUp(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytes);
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  RunUser user{entry.pw_uid, entry.pw_gid, {}};
  int count = 0;
  getgrouplist(name.c_str(), user.gid, nullptr, &count);
  user.groups.resize(static_cast<size_t>(count));
  if (count == 0 || getgrouplist(name.c_str(), user.gid, user.groups.data(), &count) < 0) user.groups.clear();
  return user;
}

}  // namespace

absl::StatusOr<std::optional<RunUser>> FindPluginUser(const std::string& configured) {
  std::optional<RunUser> user;
  if (configured.empty()) {
    if (geteuid() != 0) return std::nullopt;
    user = LookUp(kOwnUser);
    if (!user.has_value()) user = LookUp(kOtherwise);
    if (!user.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("plugins.user: there is neither a user '", kOwnUser,
                                                     "' nor '", kOtherwise, "'; name one, or root"));
    }
    return user;
  }
  user = LookUp(configured);
  if (!user.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("plugins.user: there is no user '", configured, "'"));
  }
  if (user->uid == geteuid()) return std::nullopt;
  if (geteuid() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugins.user: only an agent that is root can run plugins as '", configured, "'"));
  }
  return user;
}

absl::Status CheckReachable(const std::string& path, const RunUser& user) {
  int error = 0;
  // A thread has file rights of its own. The C library would change the groups of all threads; the system
  // call changes this one's, which ends here.
  std::thread([&] {
    std::vector<gid_t> groups = user.groups;
    groups.push_back(user.gid);
    if (syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return;
    setfsgid(user.gid);
    setfsuid(user.uid);
    if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) error = errno;
  }).join();
  if (error == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the user that plugins run as (", user.uid, ") can't get at ", path, ": ",
      Message(ErrnoStatus(error, "execute")),
      "; open the folders above it to that user, or set plugins.user to another user, or to root"));
}

}  // namespace fleetmark::agent
