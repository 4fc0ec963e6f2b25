// Sealing: the rows of a group become a chunk, column by column.
//
// Thread-safety: part of the one writer's write set. Errors: DataLoss for a row that can't be read.
#ifndef FLEETMARK_COLLECTOR_STORE_SEALING_H_
#define FLEETMARK_COLLECTOR_STORE_SEALING_H_

#include "absl/status/status.h"

#include "collector/store/database.h"
#include "collector/store/series_catalog.h"

namespace fleetmark::collector {

// Whether the group has as many rows as a chunk should have. Groups differ in it, so that those whose runs
// keep step are not all sealed in one commit.
bool ShouldSeal(const Group& group);

// Packs all rows of the group that the database holds. `group` is changed as the writes will make it.
absl::Status SealGroup(const Database& db, Group* group, WriteSet* writes);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SEALING_H_
