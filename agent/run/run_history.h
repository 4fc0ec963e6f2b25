// How the last runs of each benchmark went, for health checks that must answer at once.
//
// Thread-safety: all methods, any thread; none blocks.
#ifndef FLEETMARK_AGENT_RUN_RUN_HISTORY_H_
#define FLEETMARK_AGENT_RUN_RUN_HISTORY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/mutex.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class RunHistory {
 public:
  // As many failures of one benchmark in a row are a problem of the node.
  static constexpr int kFailuresInARow = 3;

  struct Last {
    std::string benchmark;
    v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
    std::string reason;
    absl::Time ended;
    int failures = 0;  // failed, invalid or timed out, one after the other
  };

  // Runs that were skipped or cancelled say nothing about the node.
  void Note(const v1::Run& run, absl::Time now);

  // The last run of all; none before the first.
  std::optional<Last> Newest() const;

  // One line for each benchmark that keeps failing: "gemm failed 3 times in a row: exit status 1: …".
  std::vector<std::string> Problems() const;

 private:
  static constexpr size_t kMaxBenchmarks = 4096;

  mutable Mutex mu_;
  std::map<std::string, Last> last_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_RUN_RUN_HISTORY_H_
