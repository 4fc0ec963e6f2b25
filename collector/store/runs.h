// Runs: each stored once, found by id, by node and time, and by time alone.
//
// Thread-safety: reading from any thread; PutRun as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_RUNS_H_
#define FLEETMARK_COLLECTOR_STORE_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/sample_reader.h"
#include "collector/store/series_catalog.h"
#include "collector/store/store_types.h"
#include "collector/store/values.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

absl::StatusOr<bool> HasRun(const Database& db, const UlidBytes& id);
// The log is stored apart. With `metrics_apart` the metrics lie in the series.
void PutRun(const std::string& node, const UlidBytes& id, const v1::Run& run, bool metrics_apart,
            WriteSet* writes, Counters* counters);

// A run whose samples are gone, as they are kept for a shorter time, comes without metrics.
absl::StatusOr<v1::NodeRun> ReadRun(const Database& db, const SeriesCatalog& catalog,
                                    const std::string& run_id);
absl::StatusOr<std::vector<v1::NodeRun>> ListRuns(const Database& db, const SeriesCatalog& catalog,
                                                  const v1::ListRunsRequest& filter, const Page& page,
                                                  std::string* next_token);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_RUNS_H_
