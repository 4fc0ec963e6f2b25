// Events: by time, and by node and time.
//
// Thread-safety: reading from any thread; PutEvent as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_EVENTS_H_
#define FLEETMARK_COLLECTOR_STORE_EVENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/store_types.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

// The same event again replaces itself. InvalidArgument when event_id is no ULID.
absl::Status PutEvent(const v1::Event& event, WriteSet* writes);

absl::StatusOr<std::vector<v1::Event>> ListEvents(const Database& db, const v1::ListEventsRequest& filter,
                                                  const Page& page, std::string* next_token);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_EVENTS_H_
