// From records of agents to Prometheus' remote write, and from a remote write's body back.
//
// Thread-safety: functions without state. Errors: InvalidArgument for a body that is no remote write.
#ifndef FLEETMARK_COLLECTOR_REMOTE_WRITE_REQUEST_H_
#define FLEETMARK_COLLECTOR_REMOTE_WRITE_REQUEST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "collector/remote/remote_write.pb.h"
#include "collector/store/store_types.h"

namespace fleetmark::collector {

inline constexpr size_t kMaxWriteBytes = 32 << 20;  // of an incoming body, decompressed

// The labels that the operator gave a node.
using NodeLabelsFn = std::function<std::map<std::string, std::string>(const std::string& node)>;

// The samples of the records, those that enter series. Concatenated messages are one message, so that several
// can be sent as one.
remote::WriteRequest ToWriteRequest(absl::Span<const SenderRecords> batch, const NodeLabelsFn& node_labels);

std::string SnappyCompress(std::string_view data);

// InvalidArgument when it is not snappy's block format, or would be larger than `max_bytes`: that is known
// before anything is allocated.
absl::StatusOr<std::string> SnappyDecompress(std::string_view data, size_t max_bytes);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_REMOTE_WRITE_REQUEST_H_
