// The samples of a series, in time order.
//
// Thread-safety: reading from any thread; PutSample as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_SAMPLES_H_
#define FLEETMARK_COLLECTOR_STORE_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

void PutSample(const SampleKey& key, double value, double relative_spread, WriteSet* writes);

absl::Status ScanSamples(const Database& db, uint64_t series_id, int64_t from_unix_ns, int64_t to_unix_ns,
                         absl::FunctionRef<bool(const v1::Sample&)> visit);
absl::StatusOr<std::vector<v1::Sample>> LastSamples(const Database& db, uint64_t series_id,
                                                    int64_t to_unix_ns, size_t count);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SAMPLES_H_
