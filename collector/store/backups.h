// Backups of the store in one folder, each a folder named by its time (20261203T021500.250Z), of which the
// newest are kept. A backup is a store as of one moment; docs/operations.md says how one is taken back.
//
// Making one stages the store's files by links in the store's own folder, and moves or copies them from there
// while the store goes on working: what is slow, or fails for want of space, is not the store's.
//
// Thread-safety: all methods, any thread; one backup is made at a time. Make blocks for as long as copying
// takes. Ownership: store and clock must outlive it.
// Errors: FailedPrecondition (no folder is configured, or it can't be used), Aborted (another is being made),
// ResourceExhausted (too little space), Cancelled (stopped), those of Store::Backup.
#ifndef FLEETMARK_COLLECTOR_STORE_BACKUPS_H_
#define FLEETMARK_COLLECTOR_STORE_BACKUPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class Backups {
 public:
  struct Options {
    std::string folder;                  // empty: none are made
    std::string store_folder;            // where the store lies
    size_t kept = 7;                     // at least 1; older ones are removed once a new one is complete
    uint64_t reserve_bytes = 256 << 20;  // must remain free where the backups lie
  };

  struct Made {
    std::string folder;
    absl::Time time;
    uint64_t files = 0;
    uint64_t bytes = 0;
    bool linked = false;  // shares its table files with the store: it costs little, but has the same disk
    std::vector<std::string> removed;  // names of older ones
  };

  // Removes what a process that was killed has left of a backup in the store's folder.
  Backups(Options options, Store& store, Clock& clock);

  absl::StatusOr<Made> Make();

  // What is being made ends soon with Cancelled, and no other begins.
  void Stop();

 private:
  absl::StatusOr<Made> MakeAlone();
  absl::Status CheckSpace() const;
  std::string Staging() const { return options_.store_folder + "/backup_staging"; }
  absl::Status RemoveStaging() const;

  const Options options_;
  Store& store_;
  Clock& clock_;
  Mutex mu_;
  bool making_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

// The complete backups in a folder by name, oldest first.
std::vector<std::string> ListBackups(const std::string& folder);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_BACKUPS_H_
