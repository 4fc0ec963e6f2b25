// A disk for SQLite that can lose its power. It stands before SQLite's default file system for as long as it
// lives, writes through to real files, and remembers which operations a sync has made durable.
//
// At a power loss every operation that was not synced may have happened or not:
// - each 512-byte sector holds what was synced, or any later version of it;
// - a file's size is the synced one or any later one; what it gained without being written is zeros or junk;
// - a file that was made or deleted is so only by a sync of its folder. As SQLite's own does, the first sync
//   of a new journal or log, and a deletion that asks for it, sync the folder.
//
// Model: POSIX without the favours of journalling file systems. Only what SQLite itself does is seen.
//
// Thread-safety: none; one at a time in a process.
#ifndef FLEETMARK_TESTS_FAKES_POWER_LOSS_DISK_H_
#define FLEETMARK_TESTS_FAKES_POWER_LOSS_DISK_H_

#include <cstdint>
#include <memory>
#include <string>

namespace fleetmark {

class PowerLossDisk {
 public:
  enum class Survivors {
    kNone,    // only what was synced
    kAll,     // as if the operating system had written everything back
    kPrefix,  // operations up to a random one, the last one torn
    kAny,     // each sector, size and name by itself
  };

  PowerLossDisk();
  ~PowerLossDisk();
  PowerLossDisk(const PowerLossDisk&) = delete;
  PowerLossDisk& operator=(const PowerLossDisk&) = delete;

  // Power is lost before the n-th write, sync, truncation, creation or deletion from now (from 1); all later
  // ones fail. 0: never.
  void LosePowerAt(int n);
  bool power_lost() const;
  int operations() const;  // since LosePowerAt

  // Writes to `folder`, which exists and is empty, what the files are after the loss.
  void WriteWhatIsLeft(const std::string& folder, Survivors survivors, uint64_t seed) const;

  // Forgets all files, as nothing of them is open: a machine that starts again.
  void Reset();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_TESTS_FAKES_POWER_LOSS_DISK_H_
