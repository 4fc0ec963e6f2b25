// Whatever an agent sends is sorted into kept and refused records, none lost, none out of order, and what
// is kept passes again.
#include <cstdint>
#include <cstdlib>

#include "google/protobuf/stubs/logging.h"

#include "collector/ingest/validate.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fleetmark::collector::CheckBatch;
  const google::protobuf::LogSilencer quiet;
  fleetmark::v1::AgentMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  if (message.has_hello()) (void)fleetmark::collector::CheckHello(message.hello()).ok();
  if (message.has_heartbeat()) (void)fleetmark::collector::CheckHeartbeat(message.heartbeat()).ok();
  if (message.has_lease_request()) {
    (void)fleetmark::collector::CheckLeaseRequest(message.lease_request()).ok();
  }
  if (!message.has_records()) return 0;

  const absl::Time now = absl::FromUnixSeconds(1'790'000'000);
  const auto checked = CheckBatch(message.records(), "n1", now);
  if (!checked.ok()) return 0;
  const auto sent = static_cast<size_t>(message.records().records_size());
  Require(checked->accepted.size() + checked->refused.size() == sent);
  fleetmark::v1::RecordBatch kept;
  uint64_t last = 0;
  for (const fleetmark::v1::Record& record : checked->accepted) {
    Require(record.sequence() > last);
    last = record.sequence();
    *kept.add_records() = record;
  }
  const auto again = CheckBatch(kept, "n1", now);
  Require(again.ok() && again->refused.empty());
  return 0;
}
