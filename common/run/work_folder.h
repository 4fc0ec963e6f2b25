// The private folder of one run.
//
// Thread-safety: one thread's at a time. Ownership: owns the folder, and removes it with all that is in it
// at the end of its scope, or before by Remove.
#ifndef FLEETMARK_COMMON_RUN_WORK_FOLDER_H_
#define FLEETMARK_COMMON_RUN_WORK_FOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/run/runner.h"

namespace fleetmark {

class WorkFolder {
 public:
  // Makes the folder, the user's if there is one. AlreadyExists; PermissionDenied.
  static absl::StatusOr<WorkFolder> Make(const std::string& path, const std::optional<RunUser>& user);

  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  // Destroyed with the folder still there only where making it failed halfway: it is empty then.
  ~WorkFolder() { Remove().IgnoreError(); }

  const std::string& path() const { return path_; }

  absl::Status Remove();

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Does what is below `path`, and what `processes` hold open without a name in its file system, take more
// than `max_bytes` of the disk? A tree with more than 100,000 entries or
// 64 levels counts as too large, so that looking at it stays cheap. Reads folders; follows no link.
bool TakesMoreThan(const std::string& path, int64_t max_bytes, const std::vector<pid_t>& processes);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_WORK_FOLDER_H_
