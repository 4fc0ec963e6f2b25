#include "collector/ingest/agent_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/ingest/registration.h"
#include "collector/ingest/validate.h"
#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/net/grpc_status.h"
#include "common/obs/log.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kProtocol = 1;
constexpr double kBurstSeconds = 10;
constexpr absl::Duration kLongestWait = absl::Seconds(1);  // then it is asked again

}  // namespace

void AgentStream::Begin() {
  MutexLock lock(mu_);
  self_ = shared_from_this();
  allowance_ = kBurstSeconds * parts_.options.max_records_per_second;
  allowance_at_ = parts_.clock.Mono();
  ReadOnLocked();
}

void AgentStream::Close(const absl::Status& status) {
  MutexLock lock(mu_);
  CloseLocked(status);
}

// --- reading -------------------------------------------------------------------------------------------

// reading_ stays set until the message is handled, which is in incoming_ so long: a batch that becomes durable
// meanwhile must not have the next one read over it.
void AgentStream::OnReadDone(bool ok) {
  State state;
  {
    MutexLock lock(mu_);
    if (!ok) {
      reading_ = false;
      read_closed_ = true;
      if (outstanding_ == 0) CloseLocked(absl::OkStatus());
      return;
    }
    if (closing_.has_value()) return;
    state = state_;
  }
  if (state == State::kAwaitHello) {
    HandleHello();
  } else {
    Handle();
  }
  MutexLock lock(mu_);
  reading_ = false;
  ReadOnLocked();
}

void AgentStream::PayLocked(int records) {
  const double rate = parts_.options.max_records_per_second;
  if (rate <= 0) return;
  const MonoTime now = parts_.clock.Mono();
  const double earned = rate * absl::ToDoubleSeconds(now - allowance_at_);
  allowance_ = std::min(allowance_ + earned, kBurstSeconds * rate) - records;
  allowance_at_ = now;
}

bool AgentStream::HeldBackLocked() {
  PayLocked(0);
  if (allowance_ >= 0) return false;
  if (std::exchange(waiting_, true)) return true;
  parts_.metrics.paced.Add();
  const absl::Duration wait = absl::Seconds(-allowance_ / parts_.options.max_records_per_second);
  // Weak: the alarm keeps its callback for as long as it lives itself.
  alarm_.Set(absl::ToChronoTime(RealClock().Now() + std::clamp(wait, absl::Milliseconds(1), kLongestWait)),
             [weak = weak_from_this()](bool) {
               const std::shared_ptr<AgentStream> self = weak.lock();
               if (self == nullptr) return;
               MutexLock lock(self->mu_);
               self->waiting_ = false;
               self->ReadOnLocked();
             });
  return true;
}

void AgentStream::ReadOnLocked() {
  if (reading_ || read_closed_ || closing_.has_value() || state_ == State::kRegistering) return;
  if (held_.has_value() || outstanding_ >= parts_.options.window || HeldBackLocked()) return;
  reading_ = true;
  StartRead(&incoming_);
}

void AgentStream::HandleHello() {
  if (!incoming_.has_hello()) {
    Close(absl::InvalidArgumentError("the first message must be hello"));
    return;
  }
  v1::Hello hello = std::move(*incoming_.mutable_hello());
  absl::Status status = CheckHello(hello);
  if (status.ok() && parts_.options.check_peer) {
    status = parts_.options.check_peer(peer_names_, hello.node().name());
  }
  if (!status.ok()) {
    LogWarn("agent refused",
            {{"node", hello.node().name().substr(0, limits::kNodeNameBytes)}, {"error", status}});
    Close(status);
    return;
  }
  node_ = hello.node().name();
  epoch_ = hello.epoch();
  NoteClock(hello.time_unix_ns());
  labels_ = Labels(hello.node().labels().begin(), hello.node().labels().end());
  {
    MutexLock lock(mu_);
    state_ = State::kRegistering;
  }
  if (!parts_.committer.TryRun(
          [self = shared_from_this(), hello = std::move(hello)] { self->Register(hello); })) {
    Refuse(absl::ResourceExhaustedError("the collector is busy"));
  }
}

// In the committer's thread, as all that touches the store.
void AgentStream::Register(const v1::Hello& hello) {
  {
    MutexLock lock(mu_);
    if (closing_.has_value()) return;
  }
  absl::StatusOr<v1::Node> known = parts_.store.GetNode(node_);
  absl::Status status = absl::IsNotFound(known.status()) ? absl::OkStatus() : known.status();
  uint64_t watermark = 0;
  if (status.ok()) {
    const Registration registration = collector::Register(
        known.ok() ? std::optional<v1::Node>(*std::move(known)) : std::nullopt, hello, parts_.clock.Now());
    status = parts_.store.PutNode(registration.node, registration.events);
  }
  if (status.ok()) {
    const absl::StatusOr<uint64_t> stored = parts_.store.Watermark(node_, epoch_);
    status = stored.status();
    if (stored.ok()) watermark = *stored;
  }
  if (!status.ok()) {
    Refuse(status);
    return;
  }
  Sessions::Link link;
  link.send = [self = shared_from_this()](const v1::CollectorMessage& message) {
    return self->Send(message);
  };
  link.close = [self = shared_from_this()](const absl::Status& why) { self->Close(why); };
  const auto send = link.send;
  const uint64_t session_id = parts_.sessions.Connect(node_, std::move(link));
  parts_.leases.Connected(session_id, node_, labels_);
  parts_.plans.Connected(session_id, node_, labels_, hello.plan_version(), send);
  Welcome(watermark, session_id);
}

void AgentStream::Welcome(uint64_t watermark, uint64_t session_id) {
  v1::CollectorMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_protocol(kProtocol);
  welcome.set_collector_version(parts_.options.collector_version);
  welcome.set_acked_sequence(watermark);
  welcome.set_time_unix_ns(absl::ToUnixNanos(parts_.clock.Now()));
  welcome.set_heartbeat_seconds(absl::ToDoubleSeconds(parts_.options.heartbeat));
  welcome.set_max_batch_bytes(limits::kBatchBytes);
  {
    MutexLock lock(mu_);
    if (!done_) {
      session_id_ = session_id;
      state_ = State::kOpen;
      outbox_.push_front(std::move(message));  // before what the new session was asked already
      WriteOnLocked();
      ReadOnLocked();
      return;
    }
  }
  EndSession(session_id);  // OnDone came too early to do it
}

bool AgentStream::EndSession(uint64_t session_id) {
  parts_.leases.Disconnected(session_id, node_);
  parts_.plans.Disconnected(session_id);
  return parts_.sessions.Disconnect(session_id);
}

void AgentStream::Handle() {
  uint64_t session_id = 0;
  {
    MutexLock lock(mu_);
    session_id = session_id_;
  }
  switch (incoming_.kind_case()) {
    case v1::AgentMessage::kRecords:
      HandleRecords();
      break;
    case v1::AgentMessage::kHeartbeat:
      HandleHeartbeat();
      break;
    case v1::AgentMessage::kProgress:
      parts_.sessions.OnProgress(session_id, incoming_.progress());
      break;
    case v1::AgentMessage::kLeaseRequest:
      HandleLeaseRequest();
      break;
    case v1::AgentMessage::kLeaseRelease:
      parts_.leases.Release(node_, incoming_.lease_release().request_id());
      break;
    case v1::AgentMessage::kHello:
      Close(absl::InvalidArgumentError("hello came a second time"));
      break;
    case v1::AgentMessage::kPlanStatus:
      HandlePlanStatus(session_id);
      break;
    case v1::AgentMessage::KIND_NOT_SET:  // from a newer agent
      break;
  }
}

void AgentStream::HandleRecords() {
  Committer::Offer offer;
  offer.bytes = incoming_.records().ByteSizeLong();
  const int count = incoming_.records().records_size();
  if (count == 0) return;
  const uint64_t last = incoming_.records().records(count - 1).sequence();
  absl::StatusOr<CheckedBatch> checked =
      CheckBatch(std::move(*incoming_.mutable_records()), node_, parts_.clock.Now());
  if (!checked.ok()) {
    LogWarn("batch refused", {{"node", node_}, {"error", checked.status()}});
    Close(checked.status());
    return;
  }
  parts_.metrics.moved_back.Add(static_cast<double>(checked->moved_back));
  std::vector<v1::Refusal> refused;
  for (RefusedRecord& record : checked->refused) {
    parts_.metrics.Refused(record.kind);
    refused.push_back(std::move(record.refusal));
  }
  if (!refused.empty()) {
    LogWarn("records refused", {{"node", node_},
                                {"count", refused.size()},
                                {"first_sequence", refused.front().sequence()},
                                {"first_reason", refused.front().reason()}});
  }
  offer.lane = lane_;
  offer.records = {node_, epoch_, std::move(checked->accepted)};
  offer.done = [self = shared_from_this(), last, refused = std::move(refused)](const absl::Status& status) {
    self->OnCommitted(status, last, refused);
  };
  MutexLock lock(mu_);
  if (closing_.has_value()) return;
  ++outstanding_;
  PayLocked(count);
  OfferLocked(std::move(offer));
}

void AgentStream::OfferLocked(Committer::Offer offer) {
  if (!parts_.committer.TryOffer(std::move(offer), [self = shared_from_this()] { self->OnRoom(); })) {
    held_ = std::move(offer);  // untouched when refused
  }
}

void AgentStream::OnRoom() {
  MutexLock lock(mu_);
  if (!held_.has_value() || closing_.has_value()) return;
  Committer::Offer offer = *std::move(held_);
  held_.reset();
  OfferLocked(std::move(offer));
  ReadOnLocked();
}

void AgentStream::HandlePlanStatus(uint64_t session_id) {
  if (absl::Status status = CheckPlanStatus(incoming_.plan_status()); !status.ok()) return Close(status);
  parts_.plans.OnStatus(session_id, incoming_.plan_status());
}

void AgentStream::HandleHeartbeat() {
  const v1::Heartbeat& heartbeat = incoming_.heartbeat();
  if (absl::Status status = CheckHeartbeat(heartbeat); !status.ok()) {
    Close(status);
    return;
  }
  uint64_t session_id = 0;
  {
    MutexLock lock(mu_);
    session_id = session_id_;
  }
  parts_.sessions.OnHeartbeat(session_id, heartbeat);
  const bool clock_changed = NoteClock(heartbeat.time_unix_ns());
  if (heartbeat.benchmarks().empty() && heartbeat.plugins().empty() && !clock_changed) return;
  UpdateNode([heartbeat, offset = clock_offset_](v1::Node* node) {
    node->set_clock_offset_seconds(absl::ToDoubleSeconds(offset));
    if (!heartbeat.benchmarks().empty()) *node->mutable_benchmarks() = heartbeat.benchmarks();
    if (!heartbeat.plugins().empty()) *node->mutable_plugins() = heartbeat.plugins();
  });
}

// True when the agent's clock is off by another amount than before. Small ones are the network's.
bool AgentStream::NoteClock(int64_t time_unix_ns) {
  if (time_unix_ns == 0) return false;
  const absl::Duration offset = absl::FromUnixNanos(time_unix_ns) - parts_.clock.Now();
  if (absl::AbsDuration(offset - clock_offset_) < absl::Minutes(1)) return false;
  clock_offset_ = offset;
  if (absl::AbsDuration(offset) > absl::Seconds(limits::kClockSkewSeconds)) {
    LogWarn("an agent's clock is wrong", {{"node", node_}, {"ahead_seconds", absl::ToInt64Seconds(offset)}});
  }
  return true;
}

void AgentStream::HandleLeaseRequest() {
  const v1::LeaseRequest& request = incoming_.lease_request();
  if (absl::Status status = CheckLeaseRequest(request); !status.ok()) {
    Close(status);
    return;
  }
  v1::CollectorMessage message;
  *message.mutable_lease() = parts_.leases.Ask(
      {node_, request.request_id(), request.benchmark(), absl::Seconds(request.duration_seconds())});
  if (!Send(message)) Close(absl::ResourceExhaustedError("the agent does not read its messages"));
}

// What is lost when the committer is full or the store refuses comes again with the agent's next hello.
void AgentStream::UpdateNode(const std::function<void(v1::Node*)>& change) {
  parts_.committer.TryRun([&parts = parts_, name = node_, change] {
    absl::StatusOr<v1::Node> node = parts.store.GetNode(name);
    if (node.ok()) change(&*node);
    const absl::Status status = node.ok() ? parts.store.PutNode(*node) : node.status();
    if (!status.ok()) LogWarn("node not updated", {{"node", name}, {"error", status}});
  });
}

// --- writing -------------------------------------------------------------------------------------------

void AgentStream::OnCommitted(const absl::Status& status, uint64_t last_sequence,
                              const std::vector<v1::Refusal>& refused) {
  if (!status.ok()) {
    Refuse(status);
    return;
  }
  MutexLock lock(mu_);
  --outstanding_;
  if (!ack_.has_value()) ack_.emplace();
  ack_->set_sequence(std::max(ack_->sequence(), last_sequence));
  for (const v1::Refusal& refusal : refused) *ack_->add_refused() = refusal;
  if (read_closed_ && outstanding_ == 0) CloseLocked(absl::OkStatus());
  WriteOnLocked();
  ReadOnLocked();
}

// The store does not take records now. The agent is told when to come back, and its stream ends, so that
// it resumes from what is durable whatever it has sent beyond.
void AgentStream::Refuse(const absl::Status& status) {
  v1::CollectorMessage message;
  message.mutable_pause()->set_seconds(absl::ToDoubleSeconds(parts_.options.pause));
  message.mutable_pause()->set_reason(Message(status));
  MutexLock lock(mu_);
  if (closing_.has_value()) return;
  if (IsRetryable(status)) outbox_.push_back(std::move(message));
  CloseLocked(status);
}

bool AgentStream::Send(const v1::CollectorMessage& message) {
  MutexLock lock(mu_);
  if (closing_.has_value() || outbox_.size() >= parts_.options.max_outbox) return false;
  outbox_.push_back(message);
  if (state_ == State::kOpen) WriteOnLocked();
  return true;
}

void AgentStream::CloseLocked(const absl::Status& status) {
  if (!closing_.has_value()) closing_ = status;
  WriteOnLocked();
}

void AgentStream::WriteOnLocked() {
  if (writing_ || finished_) return;
  if (!outbox_.empty()) {
    outgoing_ = std::move(outbox_.front());
    outbox_.pop_front();
  } else if (ack_.has_value()) {
    *outgoing_.mutable_ack() = *std::move(ack_);
    ack_.reset();
  } else {
    if (!closing_.has_value()) return;
    finished_ = true;
    Finish(ToGrpc(*closing_));
    return;
  }
  writing_ = true;
  StartWrite(&outgoing_);
}

void AgentStream::OnWriteDone(bool ok) {
  MutexLock lock(mu_);
  writing_ = false;
  if (!ok) {  // the stream is broken
    outbox_.clear();
    ack_.reset();
    CloseLocked(absl::CancelledError("the agent has gone"));
    return;
  }
  WriteOnLocked();
}

void AgentStream::OnCancel() {
  MutexLock lock(mu_);
  outbox_.clear();
  ack_.reset();
  CloseLocked(absl::CancelledError("the agent has gone"));
}

void AgentStream::OnDone() {
  std::shared_ptr<AgentStream> self;
  uint64_t session_id = 0;
  {
    MutexLock lock(mu_);
    done_ = true;
    session_id = session_id_;
    held_.reset();
    self = std::move(self_);
  }
  if (session_id != 0 && EndSession(session_id)) {
    const int64_t now = absl::ToUnixNanos(parts_.clock.Now());
    UpdateNode([now](v1::Node* node) { node->set_last_seen_unix_ns(now); });
  }
  on_done_(this);
}

}  // namespace fleetmark::collector
