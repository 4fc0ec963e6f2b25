// Files: an owned descriptor, reading a bounded file whole, replacing a file atomically.
//
// Thread-safety: functions without state; a UniqueFd is one thread's at a time.
#ifndef FLEETMARK_COMMON_BASE_FILE_H_
#define FLEETMARK_COMMON_BASE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark {

// Closes the descriptor it owns.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// The whole file. ResourceExhausted when it is larger than `max_bytes`. Works for /proc and /sys, whose
// files have no size.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Writes a new file beside `path`, syncs it, and renames it over `path`; then syncs the folder. A reader
// sees the old content or the new, also after a power cut.
absl::Status ReplaceFile(const std::string& path, std::string_view content, int mode = 0644);

// Makes `path` and its parents. OK when it is there.
absl::Status MakeFolders(const std::string& path, int mode = 0755);

// Makes what was created, renamed or removed in the folder survive a power cut.
absl::Status SyncFolder(const std::string& path);

// Removes the folder and everything in it, however deep and also where its modes forbid it, following no
// symbolic link. OK when it isn't there.
absl::Status RemoveTree(const std::string& path);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_FILE_H_
