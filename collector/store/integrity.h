// Is the store whole? And if not, what can be saved. For a store that no process has open, or for a backup.
//
// Thread-safety: functions without state; they block for as long as reading everything takes.
// Errors: FailedPrecondition (another process has it, or another format), Unavailable.
#ifndef FLEETMARK_COLLECTOR_STORE_INTEGRITY_H_
#define FLEETMARK_COLLECTOR_STORE_INTEGRITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::collector {

struct IntegrityReport {
  std::vector<std::string> problems;  // for people; at most kMaxProblems
  uint64_t more_problems = 0;
  uint64_t files = 0;
  uint64_t series = 0;
  uint64_t chunk_columns = 0;
  uint64_t rows = 0;
  uint64_t runs = 0;

  static constexpr size_t kMaxProblems = 100;
  bool whole() const { return problems.empty(); }
};

// Reads every file, and every entry whose damage no file would show. Changes nothing.
absl::StatusOr<IntegrityReport> CheckStore(const std::string& folder);

struct RepairReport {
  struct File {
    std::string name;
    std::string family;
    uint64_t entries = 0;
    uint64_t bytes = 0;
    std::string problem;
  };
  std::string quarantine;         // the folder; empty: nothing had to be moved
  std::vector<File> quarantined;  // what they held is lost
  uint64_t entries_dropped = 0;   // that could not be read, or whose group's name is lost
};

// Moves the files that can't be read to the folder `quarantine` in the store's, makes a store of the others,
// and drops the entries that make no sense without what is lost. Nothing is deleted that could be read.
absl::StatusOr<RepairReport> RepairStore(const std::string& folder);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_INTEGRITY_H_
