// One agent's stream: a reactor of gRPC's callback API.
//
// Its rules: one read and one write are in flight at most; nothing is started after Finish; Finish waits
// for the write in flight. It keeps itself alive from Begin until OnDone, and the committer's callbacks
// keep it alive beyond; they then do nothing.
//
// Thread-safety: all methods, any thread. gRPC's calls are made with the lock held, which it allows: it
// never reacts within the call.
#ifndef FLEETMARK_COLLECTOR_INGEST_AGENT_STREAM_H_
#define FLEETMARK_COLLECTOR_INGEST_AGENT_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/server_callback.h"

#include "collector/ingest/ingest_service.h"
#include "common/base/mutex.h"
#include "common/model/labels.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::collector {

// What all streams share.
struct IngestParts {
  IngestService::Options options;
  Store& store;
  Committer& committer;
  Sessions& sessions;
  LeaseTable& leases;
  PlanBook& plans;
  IngestMetrics& metrics;
  Clock& clock;
};

class AgentStream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>,
                          public std::enable_shared_from_this<AgentStream> {
 public:
  // `on_done` is called once, after everything else.
  AgentStream(IngestParts& parts, std::vector<std::string> peer_names,
              std::function<void(AgentStream*)> on_done)
      : parts_(parts), peer_names_(std::move(peer_names)), on_done_(std::move(on_done)) {}

  void Begin();
  // Ends the stream after what waits to be written.
  void Close(const absl::Status& status);

 private:
  enum class State { kAwaitHello, kRegistering, kOpen };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void HandleHello();
  void Register(const v1::Hello& hello);
  void Welcome(uint64_t watermark, uint64_t session_id);
  void Handle();
  void HandleRecords();
  void HandleHeartbeat();
  void HandlePlanStatus(uint64_t session_id);
  // True when the node has no session now.
  bool EndSession(uint64_t session_id);
  bool NoteClock(int64_t time_unix_ns);
  void HandleLeaseRequest();
  void UpdateNode(const std::function<void(v1::Node*)>& change);
  void OnRoom();
  void OnCommitted(const absl::Status& status, uint64_t last_sequence,
                   const std::vector<v1::Refusal>& refused);
  bool Send(const v1::CollectorMessage& message);
  void Refuse(const absl::Status& status);

  // Takes the records of one message off what the agent may send.
  void PayLocked(int records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True when it has to wait before it is read on; it then is by itself.
  bool HeldBackLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadOnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OfferLocked(Committer::Offer offer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteOnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  IngestParts& parts_;
  const std::vector<std::string> peer_names_;
  const std::function<void(AgentStream*)> on_done_;
  std::shared_ptr<AgentStream> self_;  // from Begin to OnDone

  // Touched by one reaction at a time: gRPC reads into it, and the next read begins when it was handled.
  v1::AgentMessage incoming_;
  // Set by HandleHello, constant from then on.
  std::string node_;
  Labels labels_;
  std::string epoch_;
  absl::Duration clock_offset_;  // how far the agent's clock is ahead; touched as incoming_ is
  const std::shared_ptr<Committer::Lane> lane_ = std::make_shared<Committer::Lane>();

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kAwaitHello;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool read_closed_ ABSL_GUARDED_BY(mu_) = false;  // the agent sends no more
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mu_);
  uint64_t session_id_ ABSL_GUARDED_BY(mu_) = 0;
  v1::CollectorMessage outgoing_ ABSL_GUARDED_BY(mu_);  // of the write in flight
  double allowance_ ABSL_GUARDED_BY(mu_) = 0;           // records; below 0: has to wait
  MonoTime allowance_at_ ABSL_GUARDED_BY(mu_);
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;  // for the alarm
  grpc::Alarm alarm_;
  std::deque<v1::CollectorMessage> outbox_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::Ack> ack_ ABSL_GUARDED_BY(mu_);            // what is durable and not acknowledged yet
  size_t outstanding_ ABSL_GUARDED_BY(mu_) = 0;                // batches that are not durable yet
  std::optional<Committer::Offer> held_ ABSL_GUARDED_BY(mu_);  // waits for room; one of `outstanding_`
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_AGENT_STREAM_H_
