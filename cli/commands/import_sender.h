// Sends imported measurements to the collector in calls of a bounded size, and tells what could not go in by
// file and line.
//
// Thread-safety: none. Ownership: the session must outlive it. Errors: of the call; a run that is refused is
// a fault.
#ifndef FLEETMARK_CLI_COMMANDS_IMPORT_SENDER_H_
#define FLEETMARK_CLI_COMMANDS_IMPORT_SENDER_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

#include "cli/commands/commands.h"
#include "common/exposition/imported_runs.h"

namespace fleetmark::cli {

class ImportSender {
 public:
  explicit ImportSender(Session& session) : session_(session) {}

  // What follows comes from this file. Sends what came before, so that no run is of two files.
  absl::Status Begin(const std::string& file);
  // A measurement that is not fit is a fault. `bytes`: how much text it was.
  absl::Status Add(const ImportedMetric& metric, size_t line, size_t bytes);
  // The first faults of a file are told, the others counted.
  void Fault(size_t line, const std::string& why);
  absl::Status Send();

  size_t faults() const { return faults_; }
  const v1::ImportRunsResponse& total() const { return total_; }

 private:
  Session& session_;
  std::string file_;
  ImportedRuns runs_;
  v1::ImportRunsResponse total_;
  size_t bytes_ = 0;  // since the last call
  size_t faults_ = 0;
  size_t faults_of_file_ = 0;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_IMPORT_SENDER_H_
