#include "collector/store/folder_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

absl::Status WriteAll(int fd, const char* data, size_t size, const std::string& path) {
  for (size_t written = 0; written < size;) {
    const ssize_t n = write(fd, data + written, size - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    written += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status CopyFile(const std::string& from, const std::string& to, char* buffer,
                      absl::FunctionRef<bool()> go_on) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) return ErrnoStatus(errno, absl::StrCat("open ", from));
  const UniqueFd target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!target.valid()) return ErrnoStatus(errno, absl::StrCat("create ", to));
  while (true) {
    if (!go_on()) return absl::CancelledError("stopped before the copy was complete");
    const ssize_t n = read(source.get(), buffer, kBufferBytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", from));
    if (n == 0) break;
    FM_RETURN_IF_ERROR(WriteAll(target.get(), buffer, static_cast<size_t>(n), to));
  }
  if (fsync(target.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", to));
  return absl::OkStatus();
}

// False where the file system, or a border between two, does not allow it.
bool Linked(const std::string& from, const std::string& to) { return link(from.c_str(), to.c_str()) == 0; }

absl::StatusOr<CopiedFolder> CopyFiles(const std::string& from, const std::string& to,
                                       absl::FunctionRef<bool()> go_on) {
  CopiedFolder copied;
  const auto buffer = std::make_unique<char[]>(kBufferBytes);
  std::error_code error;
  for (std::filesystem::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    struct stat st {};
    if (lstat(it->path().c_str(), &st) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", name));
    if (!S_ISREG(st.st_mode)) continue;
    const std::string target = absl::StrCat(to, "/", name);
    ++copied.files;
    copied.bytes += static_cast<uint64_t>(st.st_size);
    if (it->path().extension() == ".sst" && Linked(it->path(), target)) {
      ++copied.linked;
    } else {
      FM_RETURN_IF_ERROR(CopyFile(it->path(), target, buffer.get(), go_on));
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat("reading folder ", from, ": ", error.message()));
  FM_RETURN_IF_ERROR(SyncFolder(to));
  return copied;
}

}  // namespace

absl::StatusOr<CopiedFolder> CopyStoreFolder(const std::string& from, const std::string& to,
                                             absl::FunctionRef<bool()> go_on) {
  if (mkdir(to.c_str(), 0750) != 0) return ErrnoStatus(errno, absl::StrCat("make folder ", to));
  absl::StatusOr<CopiedFolder> copied = CopyFiles(from, to, go_on);
  if (!copied.ok()) RemoveTree(to).IgnoreError();  // the first error is the one to tell
  return copied;
}

}  // namespace fleetmark::collector
