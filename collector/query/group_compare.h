// Two groups of series side by side, metric by metric: how different, and how sure that is.
//
// What is compared are medians of nodes, since the samples of one node are not independent of one another; by
// pairs where the same nodes are in both groups, such as before and after an update. Only for one or two
// nodes are samples compared. Relative changes are shifts of logarithms (two_samples.h).
//
// Bounded: 50,000 series and 4,000,000 samples a group, 300 comparisons; InvalidArgument asks for a narrower
// choice. Values are thinned to 500 a group.
//
// Thread-safety: function without state; it blocks for as long as the store reads.
#ifndef FLEETMARK_COLLECTOR_QUERY_GROUP_COMPARE_H_
#define FLEETMARK_COLLECTOR_QUERY_GROUP_COMPARE_H_

#include "absl/status/statusor.h"

#include "fleetmark/v1/fleet.pb.h"
#include "fleetmark/v1/overview.pb.h"

namespace fleetmark::collector {

class Store;

absl::StatusOr<v1::CompareResponse> CompareGroups(const Store& store, const v1::CompareRequest& request);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_GROUP_COMPARE_H_
