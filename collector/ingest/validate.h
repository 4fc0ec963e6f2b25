// What an agent sends, checked against common/model/limits.h and the contract before anything is done
// with it.
//
// Thread-safety: functions without state. Errors: InvalidArgument naming the field; it ends the stream. A
// single bad record does not: it is refused, and the others are kept.
#ifndef FLEETMARK_COLLECTOR_INGEST_VALIDATE_H_
#define FLEETMARK_COLLECTOR_INGEST_VALIDATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::collector {

absl::Status CheckHello(const v1::Hello& hello);
absl::Status CheckHeartbeat(const v1::Heartbeat& heartbeat);
absl::Status CheckPlanStatus(const v1::PlanStatus& status);
absl::Status CheckLeaseRequest(const v1::LeaseRequest& request);

enum class RefusalKind { kInvalid, kFuture, kOtherNode, kTooLarge, kUnknownKind };
inline constexpr RefusalKind kRefusalKinds[] = {RefusalKind::kInvalid, RefusalKind::kFuture,
                                                RefusalKind::kOtherNode, RefusalKind::kTooLarge,
                                                RefusalKind::kUnknownKind};
// "invalid", "future", …: a label of a metric.
const char* RefusalKindName(RefusalKind kind);

struct RefusedRecord {
  v1::Refusal refusal;
  RefusalKind kind = RefusalKind::kInvalid;
};

struct CheckedBatch {
  std::vector<v1::Record> accepted;  // ascending in sequence
  std::vector<RefusedRecord> refused;
  size_t moved_back = 0;  // of those accepted, and
  absl::Duration moved_by;
};

// Sorts the records of `node` into good and bad; `now` is the collector's clock. An event without a node
// becomes the sender's.
//
// A record that is stamped too far in the future comes from a clock that is wrong, and what it says is good
// all the same: the future times of all such records of a batch are moved back by one amount, so that the
// latest is now and their distances stay; a run gets a warning. One that is more than
// limits::kClockRepairSeconds ahead is refused.
//
// InvalidArgument when the batch is too large or its sequences do not ascend from 1.
absl::StatusOr<CheckedBatch> CheckBatch(v1::RecordBatch batch, const std::string& node, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_VALIDATE_H_
