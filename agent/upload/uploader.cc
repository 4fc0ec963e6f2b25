#include "agent/upload/uploader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kMinHeartbeat = absl::Seconds(1);
constexpr absl::Duration kMaxHeartbeat = absl::Hours(1);
constexpr absl::Duration kDefaultHeartbeat = absl::Minutes(1);
constexpr int kHastenedHeartbeats = 4;  // at most, in the time of one that nothing hastens
constexpr absl::Duration kMaxPause = absl::Hours(1);

// What a collector sends is bounded, whatever it is.
absl::Duration Bounded(double seconds, absl::Duration low, absl::Duration high) {
  if (!std::isfinite(seconds)) return high;
  return std::clamp(absl::Seconds(seconds), low, high);
}

// Only somebody's intervention helps.
bool NeedsIntervention(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

Uploader::Uploader(Options options, Callbacks callbacks, Spool& spool, UploadConnector& connector,
                   Clock& clock)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      spool_(spool),
      connector_(connector),
      clock_(clock),
      inbox_(clock),
      window_(options_.window_bytes, options_.window_batches),
      backoff_(options_.backoff, options_.seed),
      longest_backoff_({options_.backoff.max, options_.backoff.max, 1.0}, options_.seed + 1) {}

Uploader::~Uploader() { Stop(absl::ZeroDuration()); }

void Uploader::Start() {
  if (!options_.collectors.empty()) thread_ = std::thread([this] { Loop(); });
}

void Uploader::Stop(absl::Duration drain) {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    stop_deadline_ = std::min(stop_deadline_, clock_.Mono() + drain);
  }
  inbox_.Wake();
  if (thread_.joinable()) thread_.join();
}

bool Uploader::Send(v1::AgentMessage message) {
  {
    MutexLock lock(mu_);
    if (stats_.connected_to.empty() || outbox_.size() >= options_.outbox_messages) {
      ++stats_.outbox_refused;
      return false;
    }
    outbox_.push_back(std::move(message));
  }
  inbox_.Wake();
  return true;
}

void Uploader::NotifyChanged() {
  {
    MutexLock lock(mu_);
    changed_ = true;
  }
  inbox_.Wake();
}

Uploader::Stats Uploader::stats() const {
  MutexLock lock(mu_);
  return stats_;
}

void Uploader::Loop() {
  size_t next = options_.seed % options_.collectors.size();
  while (!Stopping()) {
    const MonoTime started = clock_.Mono();
    const absl::Status status = Serve(options_.collectors[next]);
    SetDisconnected(status);
    if (Stopping()) return;
    next = (next + 1) % options_.collectors.size();
    // One that served for long was sound: its loss says nothing of the next try.
    if (clock_.Mono() - started >= options_.backoff.max + options_.connect_timeout) backoff_.Reset();
    WaitToRetry(DelayAfter(status));
  }
}

absl::Duration Uploader::DelayAfter(const absl::Status& status) {
  return NeedsIntervention(status) ? longest_backoff_.Next() : backoff_.Next();
}

void Uploader::WaitToRetry(absl::Duration delay) {
  const MonoTime deadline = clock_.Mono() + delay;
  while (!Stopping() && clock_.Mono() < deadline) inbox_.Take(deadline);
}

absl::Status Uploader::Serve(const std::string& address) {
  inbox_.Clear();
  Session session;
  session.address = address;
  session.epoch = spool_.epoch();
  session.started = clock_.Mono();
  session.stream = connector_.Connect(address, inbox_.Events());
  return ServeConnected(session);
}

absl::Status Uploader::ServeConnected(Session& session) {
  bool said_hello = false;
  while (true) {
    FM_RETURN_IF_ERROR(CheckTimeouts(session));
    if (spool_.epoch() != session.epoch) return absl::UnavailableError("the spool began a new epoch");
    if (session.writable && !said_hello) {
      SendMessage(session, Hello(session));
      said_hello = true;
    }
    bool sent = false;
    if (session.welcome.has_value()) FM_RETURN_IF_ERROR(SendNext(session, &sent));
    if (!sent && Drained(session) && session.writable && !session.finished) {
      session.stream->Finish();
      session.finished = true;
    }
    Inbox::Content content = inbox_.Take(NextDeadline(session));
    std::optional<absl::Status> closed = std::exchange(content.closed, std::nullopt);
    FM_RETURN_IF_ERROR(Handle(session, std::move(content)));
    if (!closed.has_value()) continue;
    return closed->ok() ? absl::UnavailableError("the collector ended the stream") : *closed;
  }
}

absl::Status Uploader::CheckTimeouts(const Session& session) const {
  const MonoTime now = clock_.Mono();
  if (now >= StopDeadline()) return absl::CancelledError("stopping");
  if (Stopping() && !session.welcome.has_value()) return absl::CancelledError("stopping");
  if (!session.welcome.has_value()) {
    if (now < session.started + options_.connect_timeout) return absl::OkStatus();
    return absl::DeadlineExceededError("no answer from the collector in time");
  }
  if (!session.writable && now >= session.write_began + options_.stall_timeout) {
    return absl::DeadlineExceededError("the collector takes nothing any more");
  }
  if (!window_.empty() && now >= session.ack_progress + options_.stall_timeout) {
    return absl::DeadlineExceededError("the collector acknowledges nothing any more");
  }
  return absl::OkStatus();
}

MonoTime Uploader::NextDeadline(const Session& session) const {
  const MonoTime stop = StopDeadline();
  if (!session.welcome.has_value()) return std::min(stop, session.started + options_.connect_timeout);
  // A heartbeat that is due while nothing can be sent waits for on_writable, not for the clock.
  MonoTime next = session.writable ? session.heartbeat_due : session.write_began + options_.stall_timeout;
  if (session.finished) next = MonoTime::InfiniteFuture();
  if (!window_.empty()) next = std::min(next, session.ack_progress + options_.stall_timeout);
  if (clock_.Mono() < session.paused_until && RecordsWait()) next = std::min(next, session.paused_until);
  return std::min(stop, next);
}

absl::Status Uploader::Handle(Session& session, Inbox::Content content) {
  session.writable = session.writable || content.writable;
  for (const v1::CollectorMessage& message : content.messages)
    FM_RETURN_IF_ERROR(HandleMessage(session, message));
  if (content.acked > 0) return HandleAck(session, content.acked);
  return absl::OkStatus();
}

absl::Status Uploader::HandleMessage(Session& session, const v1::CollectorMessage& message) {
  using Kind = v1::CollectorMessage::KindCase;
  if (!session.welcome.has_value() && !message.has_welcome()) {
    return absl::InternalError("the collector's first message is no Welcome");
  }
  switch (message.kind_case()) {
    case Kind::kWelcome:
      return HandleWelcome(session, message.welcome());
    case Kind::kAck:
      for (const v1::Refusal& refusal : message.ack().refused()) {
        LogWarn("The collector refused a record for good",
                {{"sequence", refusal.sequence()}, {"reason", refusal.reason()}});
        if (callbacks_.on_refused) callbacks_.on_refused(refusal);
      }
      {
        MutexLock lock(mu_);
        stats_.records_refused += static_cast<uint64_t>(message.ack().refused_size());
      }
      return HandleAck(session, message.ack().sequence());
    case Kind::kPause:
      HandlePause(session, message.pause());
      return absl::OkStatus();
    case Kind::kPlan:
      if (callbacks_.on_plan) callbacks_.on_plan(message.plan());
      return absl::OkStatus();
    case Kind::kRunNow:
      if (callbacks_.on_run_now) callbacks_.on_run_now(message.run_now());
      return absl::OkStatus();
    case Kind::kCancel:
      if (callbacks_.on_cancel) callbacks_.on_cancel(message.cancel());
      return absl::OkStatus();
    case Kind::kLease:
      if (callbacks_.on_lease) callbacks_.on_lease(message.lease());
      return absl::OkStatus();
    case Kind::KIND_NOT_SET:
      return absl::OkStatus();  // of a newer collector
  }
  return absl::OkStatus();
}

absl::Status Uploader::HandleWelcome(Session& session, const v1::Welcome& welcome) {
  if (session.welcome.has_value()) return absl::InternalError("the collector said Welcome twice");
  if (welcome.acked_sequence() > spool_.stats().last_sequence) {
    LogError("The collector has records that this spool never held; it was set back. A new epoch begins",
             {{"collector_has", welcome.acked_sequence()}, {"spool_has", spool_.stats().last_sequence}});
    return spool_.BeginEpoch();  // the next look at the epoch ends this connection
  }
  const std::string owner = absl::StrCat(session.epoch, " ", session.address);
  if (std::exchange(window_owner_, owner) != owner) window_.Forget();
  window_.Reset(welcome.acked_sequence());
  FM_RETURN_IF_ERROR(spool_.Ack(welcome.acked_sequence()));
  session.welcome = welcome;
  session.batch_bytes = std::min(options_.batch_bytes, limits::kBatchBytes);
  if (welcome.max_batch_bytes() > 0) {
    session.batch_bytes = std::min<size_t>(session.batch_bytes, welcome.max_batch_bytes());
  }
  session.heartbeat_every = welcome.heartbeat_seconds() > 0
                                ? Bounded(welcome.heartbeat_seconds(), kMinHeartbeat, kMaxHeartbeat)
                                : kDefaultHeartbeat;
  session.heartbeat_sent = clock_.Mono();
  session.heartbeat_due = session.heartbeat_sent + session.heartbeat_every / kHastenedHeartbeats;
  const absl::Duration ahead = clock_.Now() - absl::FromUnixNanos(welcome.time_unix_ns());
  if (welcome.time_unix_ns() != 0 && absl::AbsDuration(ahead) > absl::Seconds(limits::kClockSkewSeconds)) {
    LogWarn("This machine's clock and the collector's differ: one of them is wrong",
            {{"ahead_seconds", absl::ToInt64Seconds(ahead)}});
  }
  SetConnected(session);
  if (callbacks_.on_connected) callbacks_.on_connected(welcome);
  return absl::OkStatus();
}

absl::Status Uploader::HandleAck(Session& session, uint64_t sequence) {
  if (!session.welcome.has_value()) return absl::InternalError("the collector's first message is no Welcome");
  const uint64_t before = window_.acked();
  if (!window_.Acked(sequence)) {
    return absl::InternalError(
        absl::StrCat("the collector acknowledged ", sequence, ", which was never sent to it"));
  }
  if (window_.acked() == before) return absl::OkStatus();
  session.ack_progress = clock_.Mono();
  backoff_.Reset();
  return spool_.Ack(sequence);
}

// The collector may have let go of what was in flight, so that is sent again afterwards.
void Uploader::HandlePause(Session& session, const v1::Pause& pause) {
  const absl::Duration length = Bounded(pause.seconds(), absl::ZeroDuration(), kMaxPause);
  LogWarn("The collector asks for a pause",
          {{"seconds", absl::ToDoubleSeconds(length)}, {"reason", pause.reason()}});
  session.paused_until = clock_.Mono() + length;
  window_.Rewind();
}

absl::Status Uploader::SendNext(Session& session, bool* sent) {
  if (!session.writable || session.finished) return absl::OkStatus();
  HastenHeartbeat(session);
  if (clock_.Mono() >= session.heartbeat_due) {
    session.heartbeat_sent = clock_.Mono();
    session.heartbeat_due = session.heartbeat_sent + session.heartbeat_every;
    SendMessage(session, Heartbeat());
    *sent = true;
  } else if (const std::optional<v1::AgentMessage> message = TakeFromOutbox()) {
    SendMessage(session, *message);
    *sent = true;
  } else if (RecordsWait() && window_.MaySend() && clock_.Mono() >= session.paused_until) {
    return SendRecords(session, sent);
  }
  return absl::OkStatus();
}

absl::Status Uploader::SendRecords(Session& session, bool* sent) {
  v1::AgentMessage message;
  FM_ASSIGN_OR_RETURN(*message.mutable_records(),
                      spool_.ReadAfter(window_.sent(), session.batch_bytes, options_.batch_records));
  const auto& records = message.records().records();
  if (records.empty() || spool_.epoch() != session.epoch) return absl::OkStatus();
  if (window_.empty()) session.ack_progress = clock_.Mono();
  window_.Sent(records.rbegin()->sequence(), message.ByteSizeLong());
  {
    MutexLock lock(mu_);
    stats_.records_sent += static_cast<uint64_t>(records.size());
  }
  SendMessage(session, message);
  *sent = true;
  return absl::OkStatus();
}

void Uploader::SendMessage(Session& session, const v1::AgentMessage& message) {
  session.writable = false;
  session.write_began = clock_.Mono();
  session.stream->Send(message);
}

v1::AgentMessage Uploader::Hello(const Session& session) {
  v1::AgentMessage message;
  *message.mutable_hello() = callbacks_.make_hello();
  message.mutable_hello()->set_protocol(1);
  message.mutable_hello()->set_epoch(session.epoch);
  message.mutable_hello()->set_first_sequence(spool_.stats().first_sequence);
  message.mutable_hello()->set_time_unix_ns(absl::ToUnixNanos(clock_.Now()));
  return message;
}

v1::AgentMessage Uploader::Heartbeat() {
  v1::AgentMessage message;
  v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  if (callbacks_.make_heartbeat) heartbeat = callbacks_.make_heartbeat();
  const Spool::Stats spool = spool_.stats();
  heartbeat.set_time_unix_ns(absl::ToUnixNanos(clock_.Now()));
  heartbeat.set_spool_records(spool.records);
  heartbeat.set_spool_bytes(spool.bytes);
  heartbeat.set_spool_oldest_unix_ns(spool.records == 0 ? 0 : absl::ToUnixNanos(spool.oldest));
  heartbeat.set_dropped_records(spool.dropped);
  return message;
}

void Uploader::HastenHeartbeat(Session& session) {
  MutexLock lock(mu_);
  if (!std::exchange(changed_, false)) return;
  session.heartbeat_due =
      std::min(session.heartbeat_due, session.heartbeat_sent + session.heartbeat_every / kHastenedHeartbeats);
}

std::optional<v1::AgentMessage> Uploader::TakeFromOutbox() {
  MutexLock lock(mu_);
  if (outbox_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(outbox_.front());
  outbox_.pop_front();
  return message;
}

// The newest record is always there while any is: whatever else drops one appends a report.
bool Uploader::RecordsWait() const {
  const Spool::Stats spool = spool_.stats();
  return spool.records > 0 && spool.last_sequence > window_.sent();
}

bool Uploader::Drained(const Session& session) const {
  if (!session.welcome.has_value() || !Stopping() || !window_.empty() || RecordsWait()) return false;
  MutexLock lock(mu_);
  return outbox_.empty();
}

void Uploader::SetConnected(const Session& session) {
  LogInfo("Connected to the collector",
          {{"collector", session.address}, {"acknowledged", session.welcome->acked_sequence()}});
  logged_error_.clear();
  MutexLock lock(mu_);
  stats_.connected_to = session.address;
  ++stats_.connections;
}

void Uploader::SetDisconnected(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    stats_.connected_to.clear();
    outbox_.clear();
    if (!stopping_) ++stats_.failures;
  }
  if (!Stopping() && logged_error_ != status.ToString()) {
    logged_error_ = status.ToString();
    LogWarn("No connection to the collector; results are kept", {{"error", status}});
  }
  if (callbacks_.on_disconnected) callbacks_.on_disconnected(status);
}

bool Uploader::Stopping() const {
  MutexLock lock(mu_);
  return stopping_;
}

MonoTime Uploader::StopDeadline() const {
  MutexLock lock(mu_);
  return stop_deadline_;
}

}  // namespace fleetmark::agent
