// Quantiles of all samples of groups of series, such as the median by class of node over a month: what
// QueryApi::ReadQuantiles answers. Reads the samples once, in the order of series, and holds none of them
// beyond what quantile_pools.h bounds.
//
// Thread-safety: function without state.
// Errors: InvalidArgument names the field; ResourceExhausted (too many series, groups or steps, or an answer
// that would be too long); DeadlineExceeded; those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_GROUP_QUANTILES_H_
#define FLEETMARK_COLLECTOR_QUERY_GROUP_QUANTILES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/query/quantile_pools.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark {
class Clock;
}

namespace fleetmark::collector {

class Store;

struct QuantileLimits {
  size_t series = 500'000;
  size_t groups = 10'000;
  size_t answer_bytes = 0;
  absl::Duration time = absl::Seconds(30);
  QuantilePools::Limits pools;
};

// The request's selector and range are checked already.
absl::StatusOr<v1::ReadQuantilesResponse> GroupQuantiles(const Store& store, const Clock& clock,
                                                         const v1::ReadQuantilesRequest& request,
                                                         const QuantileLimits& limits);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_GROUP_QUANTILES_H_
