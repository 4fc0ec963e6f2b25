// Findings, and which of them are open.
//
// Thread-safety: reading from any thread; PutFinding as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_FINDINGS_H_
#define FLEETMARK_COLLECTOR_STORE_FINDINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/store_types.h"
#include "collector/store/values.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

// Creates the finding or replaces it. `db` must hold what it replaces: one finding at most once in a write
// set. InvalidArgument when finding_id is no ULID.
// What the detection of the fleet has noted in it stays, unless the new one has such notes of its own.
absl::Status PutFinding(const Database& db, v1::Finding finding, WriteSet* writes, Counters* counters);

// Replaces the notes of the detection of the fleet in a stored finding by those of `notes`, which has its
// finding_id: group, explanations, confirmation, budget. What else is stored stays, also if it was changed
// meanwhile. A finding that is not stored is left out.
absl::Status PutFleetNotes(const Database& db, const v1::Finding& notes, WriteSet* writes,
                           Counters* counters);

// NotFound, InvalidArgument when it is no ULID.
absl::StatusOr<v1::Finding> GetFinding(const Database& db, const std::string& finding_id);

// At most `limit` findings that are open, by node.
absl::StatusOr<std::vector<v1::Finding>> OpenFindings(const Database& db, size_t limit);

absl::StatusOr<std::vector<v1::Finding>> ListFindings(const Database& db,
                                                      const v1::ListFindingsRequest& filter, const Page& page,
                                                      std::string* next_token);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_FINDINGS_H_
