#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

absl::Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  std::string content;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
  }
}

absl::Status ReplaceFile(const std::string& path, std::string_view content, int mode) {
  const std::string temporary = absl::StrCat(path, ".new");
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("create ", temporary));
  FM_RETURN_IF_ERROR(WriteAll(fd.get(), content, temporary));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", temporary));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", temporary, " to ", path));
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return SyncFolder(folder.empty() ? "." : folder.string());
}

absl::Status SyncFolder(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open folder ", path));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync folder ", path));
  return absl::OkStatus();
}

absl::Status MakeFolders(const std::string& path, int mode) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string prefix = path.substr(0, at);
    if (mkdir(prefix.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, absl::StrCat("make folder ", prefix));
    }
  }
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, absl::StrCat("look at folder ", path));
  if (!S_ISDIR(st.st_mode)) return ErrnoStatus(ENOTDIR, path);
  return absl::OkStatus();
}

}  // namespace fleetmark
