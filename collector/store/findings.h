// Findings, and which of them are open.
//
// Thread-safety: reading from any thread; PutFinding as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_FINDINGS_H_
#define FLEETMARK_COLLECTOR_STORE_FINDINGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/store.h"
#include "collector/store/values.h"

namespace fleetmark::collector {

// Creates the finding or replaces it. `db` must hold what it replaces: one finding at most once in a write
// set. InvalidArgument when finding_id is no ULID.
absl::Status PutFinding(const Database& db, const v1::Finding& finding, WriteSet* writes, Counters* counters);

absl::StatusOr<std::vector<v1::Finding>> ListFindings(const Database& db,
                                                      const v1::ListFindingsRequest& filter, const Page& page,
                                                      std::string* next_token);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_FINDINGS_H_
