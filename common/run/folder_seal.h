// Are a plugin's files still those that the agent loaded? Asked before each run, so that a plugin that
// changes its own files, or a package upgrade under a running agent, is not taken for the plugin that was
// described to the collector.
//
// Content is compared by digest; it is read again only when some file's identity, size, mode or time of
// change differs from when it was last read. The time of change is the kernel's and can't be set back.
//
// Thread-safety: all methods, any thread. Blocks while files are read.
#ifndef FLEETMARK_COMMON_RUN_FOLDER_SEAL_H_
#define FLEETMARK_COMMON_RUN_FOLDER_SEAL_H_

#include <map>
#include <string>

#include "absl/status/status.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/plugin/catalog.h"

namespace fleetmark {

class FolderSeals {
 public:
  explicit FolderSeals(Clock& clock) : clock_(clock) {}

  // FailedPrecondition when the plugin's files changed since it was loaded; other errors when they can't be
  // read.
  absl::Status Check(const InstalledPlugin& plugin);

 private:
  struct Seen {
    std::string digest;
    std::string state;
  };

  Clock& clock_;
  Mutex mu_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mu_);  // by folder
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_FOLDER_SEAL_H_
