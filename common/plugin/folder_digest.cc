#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/plugin/catalog.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxFiles = 1000;
constexpr int64_t kMaxBytes = int64_t{256} << 20;

namespace fs = std::filesystem;

// What is below `folder`, relative to it, sorted.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->symlink_status(ignored).type() == fs::file_type::directory) continue;
    names.push_back(at->path().lexically_relative(folder).string());
    if (names.size() > kMaxFiles) {
      return absl::ResourceExhaustedError(absl::StrCat(folder, " holds more than ", kMaxFiles, " files"));
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read folder ", folder));
  std::sort(names.begin(), names.end());
  return names;
}

// Adds a regular file's content; `bytes_left` is what may still be read.
absl::Status AddContent(const std::string& path, Sha256& digest, int64_t& bytes_left) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (n == 0) return absl::OkStatus();
    bytes_left -= n;
    if (bytes_left < 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the plugin's files have more than ", kMaxBytes, " bytes"));
    }
    digest.Update(std::string_view(buffer, static_cast<size_t>(n)));
  }
}

absl::Status AddFile(const std::string& folder, const std::string& name, Sha256& digest,
                     int64_t& bytes_left) {
  const std::string path = absl::StrCat(folder, "/", name);
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", path));
  // Each part ends with NUL or has a length in front, so that no two folders give the same bytes.
  if (S_ISLNK(st.st_mode)) {
    std::error_code error;
    const std::string target = fs::read_symlink(path, error).string();
    if (error) return ErrnoStatus(error.value(), absl::StrCat("read link ", path));
    digest.Update(absl::StrCat("link ", target.size(), " ", name, std::string(1, '\0'), target));
    return absl::OkStatus();
  }
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is neither a file nor a folder nor a link"));
  }
  const char* kind = (st.st_mode & S_IXUSR) != 0 ? "program " : "file ";
  digest.Update(absl::StrCat(kind, st.st_size, " ", name, std::string(1, '\0')));
  return AddContent(path, digest, bytes_left);
}

}  // namespace

absl::StatusOr<std::string> DigestFolder(const std::string& folder) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(folder));
  Sha256 digest;
  int64_t bytes_left = kMaxBytes;
  for (const std::string& name : names) FM_RETURN_IF_ERROR(AddFile(folder, name, digest, bytes_left));
  return digest.FinishHex();
}

}  // namespace fleetmark
