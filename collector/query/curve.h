// A series over a range in a bounded number of points: its samples when they are few enough, else the least,
// the median and the greatest of equal buckets, so that no peak is lost. For times whose samples are no
// longer kept, the store's hourly or daily summaries stand in.
//
// Thread-safety: function without state. Errors: NotFound; those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_CURVE_H_
#define FLEETMARK_COLLECTOR_QUERY_CURVE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

#include "fleetmark/v1/overview.pb.h"

namespace fleetmark::collector {

class Store;

// Of [from, to); at most `points` points.
absl::StatusOr<v1::Curve> ReadCurveOf(const Store& store, uint64_t series_id, int64_t from_unix_ns,
                                      int64_t to_unix_ns, size_t points);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_CURVE_H_
