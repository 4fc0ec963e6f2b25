// All nodes at a glance: counts, columns of what each node is like, the newest value of one metric, and
// what changed in the last day. Bounded: it looks at 20,000 nodes, open findings, and events of a day, and
// at 2,000,000 samples; `truncated` says that there was more.
//
// Thread-safety: functions without state; they block for as long as the store reads, about 40 µs a node.
// Errors: those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_FLEET_OVERVIEW_H_
#define FLEETMARK_COLLECTOR_QUERY_FLEET_OVERVIEW_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/fleet.pb.h"
#include "fleetmark/v1/overview.pb.h"

namespace fleetmark::collector {

class Store;

// Sets a node's live state; may be empty.
using FillLive = std::function<void(v1::Node*)>;

absl::StatusOr<v1::FleetResponse> ReadFleet(const Store& store, const FillLive& fill_live, absl::Time now,
                                            const v1::GetFleetRequest& request);

// What is configured where, over all nodes, with what was measured.
absl::StatusOr<v1::BenchmarksResponse> ReadBenchmarks(const Store& store, const FillLive& fill_live);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_FLEET_OVERVIEW_H_
