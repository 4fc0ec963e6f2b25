// Stores runs that did not come over an agent's stream: imports of other tools' records.
//
// They go the way of all records: through the committer, durable before Import returns. One import at a time,
// the others wait, since each must continue the sequence of its nodes' import "sender".
//
// Thread-safety: all methods, any thread; Import blocks until the commits are done. Ownership: what Options
// names must outlive it. Errors: InvalidArgument when the request is too large; ResourceExhausted and
// Unavailable when nothing is taken now: ask again later. A bad run is refused alone.
#ifndef FLEETMARK_COLLECTOR_INGEST_RUN_IMPORT_H_
#define FLEETMARK_COLLECTOR_INGEST_RUN_IMPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class Committer;

class RunImport {
 public:
  static constexpr int kMaxRuns = 10'000;

  // A run that is older than `kept` is refused: the store would drop it.
  RunImport(Store& store, Committer& committer, Clock& clock, absl::Duration kept = absl::InfiniteDuration())
      : store_(store), committer_(committer), clock_(clock), kept_(kept) {}

  absl::StatusOr<v1::ImportRunsResponse> Import(const v1::ImportRunsRequest& request);

 private:
  absl::Status Check(const v1::NodeRun& run) const;
  absl::Status EnsureNode(const std::string& name, int64_t first_seen_unix_ns);
  // Those of one node in the order given.
  absl::Status Commit(std::vector<SenderRecords> batches);

  Store& store_;
  Committer& committer_;
  Clock& clock_;
  const absl::Duration kept_;
  Mutex importing_;  // held during a whole import
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_RUN_IMPORT_H_
