// AgentService: the collector's end of the agents' streams (proto/fleetmark/v1/agent.proto).
//
// It acknowledges a record only after it is durable, and holds an agent back by not reading on: at most
// `window` batches of a stream are under way, and HTTP/2's flow control does the rest. When the store
// refuses, the agent is told to pause and its stream ends; it then resumes from what is durable.
//
// Thread-safety: all methods, any thread. Nothing here blocks gRPC's threads; what reads or writes the
// store runs in the committer's thread.
// Ownership: the arguments must outlive the service and the server; the service must outlive the server.
// Shutdown, in this order: Stop, the server's Shutdown with a deadline, the committer's Stop.
#ifndef FLEETMARK_COLLECTOR_INGEST_INGEST_SERVICE_H_
#define FLEETMARK_COLLECTOR_INGEST_INGEST_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "collector/control/lease_table.h"
#include "collector/control/plan_book.h"
#include "collector/control/sessions.h"
#include "collector/ingest/committer.h"
#include "collector/ingest/ingest_metrics.h"
#include "collector/store/store.h"
#include "common/base/clock.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetmark::collector {

class IngestService {
 public:
  struct Options {
    std::string collector_version;
    absl::Duration heartbeat = absl::Seconds(15);  // how often agents are to send one
    absl::Duration pause = absl::Seconds(10);      // told to agents when the store refuses
    size_t window = 8;                             // batches of one stream that are not durable yet
    size_t max_outbox = 64;  // messages that wait for one agent, beside acknowledgements
    size_t max_streams = 20'000;
    // What one agent may send on and on, and as many as ten seconds' at once; then its stream is read on only
    // as fast. 0: no bound.
    double max_records_per_second = 0;
    // May the peer with these names in its certificate (none without TLS) speak for `node`? The status ends
    // its stream. Empty: every peer may.
    std::function<absl::Status(const std::vector<std::string>& peer_names, const std::string& node)>
        check_peer;
  };

  IngestService(Options options, Store& store, Committer& committer, Sessions& sessions, LeaseTable& leases,
                PlanBook& plans, IngestMetrics& metrics, Clock& clock);
  ~IngestService();

  // To be registered with a server whose largest received message is limits::kMessageBytes.
  grpc::Service* service();

  // Ends every stream with Unavailable, and each new one at once.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_INGEST_SERVICE_H_
