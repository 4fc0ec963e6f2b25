// Brings the spool's records to a collector and hands the collector's orders to the agent.
//
// One thread connects to the collectors in turn, says Hello, waits for Welcome, and then sends records in
// batches, at most Options::window_* of them unacknowledged. What is acknowledged leaves the spool, nothing
// else does. When the stream ends or stalls, it backs off with jitter and goes on, at the next collector,
// from that one's last acknowledgement; records may be sent twice, never skipped.
//
// An error that trying again can't cure (INVALID_ARGUMENT, PERMISSION_DENIED, another agent speaks for this
// node, …) is retried too, but at the longest back-off. Errors are logged when they change, not each time.
//
// Thread-safety: public methods, any thread. Callbacks run in the uploader's thread with no lock held; they
// must not block for long nor call Stop.
// Ownership: spool, connector and clock outlive it. Destruction stops it at once.
#ifndef FLEETMARK_AGENT_UPLOAD_UPLOADER_H_
#define FLEETMARK_AGENT_UPLOAD_UPLOADER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "agent/spool/spool.h"
#include "agent/upload/inbox.h"
#include "agent/upload/upload_stream.h"
#include "agent/upload/upload_window.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

class Uploader {
 public:
  struct Options {
    std::vector<std::string> collectors;  // "host:port"; with none, Start does nothing
    size_t window_bytes = 2 << 20;
    size_t window_batches = 64;
    size_t batch_bytes = 256 << 10;  // or one record, if that is larger
    size_t batch_records = 256;
    size_t outbox_messages = 64;
    absl::Duration connect_timeout = absl::Seconds(20);  // from the start to Welcome
    absl::Duration stall_timeout = absl::Minutes(2);     // something is under way and nothing moves
    Backoff::Options backoff;
    uint64_t seed = 0;  // of the jitter and of which collector comes first; another on each node
  };

  // Unset ones are skipped, but make_hello.
  struct Callbacks {
    std::function<v1::Hello()> make_hello;          // protocol, epoch, first_sequence and time are filled in
    std::function<v1::Heartbeat()> make_heartbeat;  // spool_*, dropped_records and time are filled in
    std::function<void(const v1::Plan&)> on_plan;
    std::function<void(const v1::RunNow&)> on_run_now;
    std::function<void(const v1::Cancel&)> on_cancel;
    std::function<void(const v1::Lease&)> on_lease;
    std::function<void(const v1::Refusal&)> on_refused;  // a record that the collector refused for good
    std::function<void(const v1::Welcome&)> on_connected;
    std::function<void(const absl::Status&)> on_disconnected;  // also after a failed try
  };

  struct Stats {
    std::string connected_to;   // empty: not connected
    uint64_t connections = 0;   // that reached Welcome
    uint64_t failures = 0;      // of tries and connections
    uint64_t records_sent = 0;  // with those sent again
    uint64_t records_refused = 0;
    uint64_t outbox_refused = 0;  // messages that Send did not take
  };

  Uploader(Options options, Callbacks callbacks, Spool& spool, UploadConnector& connector, Clock& clock);
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  void Start();

  // Sends what the spool and the outbox hold for at most `drain`, if connected, then ends the thread.
  void Stop(absl::Duration drain);

  // The spool has new records.
  void NotifyAppended() { inbox_.Wake(); }

  // What a heartbeat tells is another than before: the next one is sent at once, but no sooner than a quarter
  // of the usual interval after the last one.
  void NotifyChanged();

  // Puts a message that is no record (progress, lease, plan status) into the outbox. False when that is full
  // or there is no connection: such messages are worthless later. Those in the outbox when the connection
  // ends are lost.
  bool Send(v1::AgentMessage message);

  Stats stats() const;

 private:
  // Of one connection; only the thread touches it.
  struct Session {
    std::unique_ptr<UploadStream> stream;
    std::string address;
    std::string epoch;
    std::optional<v1::Welcome> welcome;
    bool writable = false;
    bool finished = false;  // Finish was called
    size_t batch_bytes = 0;
    MonoTime started;
    MonoTime write_began;     // of the message that is being taken while `writable` is false
    MonoTime ack_progress;    // when an acknowledgement last came or was first waited for
    MonoTime heartbeat_sent;  // or Welcome came
    MonoTime heartbeat_due = MonoTime::InfiniteFuture();
    absl::Duration heartbeat_every;
    MonoTime paused_until;
  };

  void Loop();
  absl::Status Serve(const std::string& address);
  absl::Status ServeConnected(Session& session);
  absl::Status Handle(Session& session, Inbox::Content content);
  absl::Status HandleMessage(Session& session, const v1::CollectorMessage& message);
  absl::Status HandleWelcome(Session& session, const v1::Welcome& welcome);
  absl::Status HandleAck(Session& session, uint64_t sequence);
  void HandlePause(Session& session, const v1::Pause& pause);

  // Sends the most urgent message there is, if the stream takes one. `*sent` tells whether it did.
  absl::Status SendNext(Session& session, bool* sent);
  absl::Status SendRecords(Session& session, bool* sent);
  void SendMessage(Session& session, const v1::AgentMessage& message);
  v1::AgentMessage Hello(const Session& session);
  v1::AgentMessage Heartbeat();
  void HastenHeartbeat(Session& session);
  std::optional<v1::AgentMessage> TakeFromOutbox();

  bool RecordsWait() const;
  bool Drained(const Session& session) const;
  MonoTime NextDeadline(const Session& session) const;
  absl::Status CheckTimeouts(const Session& session) const;
  void SetConnected(const Session& session);
  void SetDisconnected(const absl::Status& status);
  absl::Duration DelayAfter(const absl::Status& status);
  void WaitToRetry(absl::Duration delay);
  bool Stopping() const;
  MonoTime StopDeadline() const;

  const Options options_;
  const Callbacks callbacks_;
  Spool& spool_;
  UploadConnector& connector_;
  Clock& clock_;

  Inbox inbox_;
  // Only the thread touches these.
  UploadWindow window_;
  std::string window_owner_;  // the epoch and the collector that it is about
  Backoff backoff_;
  Backoff longest_backoff_;
  std::string logged_error_;

  mutable Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool changed_ ABSL_GUARDED_BY(mu_) = false;  // since the last look, of what a heartbeat tells
  MonoTime stop_deadline_ ABSL_GUARDED_BY(mu_) = MonoTime::InfiniteFuture();
  std::deque<v1::AgentMessage> outbox_ ABSL_GUARDED_BY(mu_);
  Stats stats_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_UPLOADER_H_
