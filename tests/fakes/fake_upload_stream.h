// A collector without a network: takes Hello and batches as a real one does and can be told to lose, delay
// or double acknowledgements, to cut the stream, to refuse connections, to stop reading.
//
// It keeps what it made durable by (epoch, sequence), with how often each was sent, and checks what agents
// promise: Hello first, ascending sequences, no message before on_writable.
//
// Thread-safety: all methods, any thread. Streams must not outlive it.
#ifndef FLEETMARK_TESTS_FAKES_FAKE_UPLOAD_STREAM_H_
#define FLEETMARK_TESTS_FAKES_FAKE_UPLOAD_STREAM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/upload/upload_stream.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class FakeCollector final : public UploadConnector {
 public:
  struct Faults {
    absl::Status refuse_connections;  // not OK: each try ends so
    absl::Status refuse_hello;        // not OK: each Hello is answered so
    bool answer_hello = true;         // false: silence
    bool read = true;                 // false: no message after Hello is taken
    int lose_every_nth_ack = 0;       // 0: none
    int double_every_nth_ack = 0;
    bool hold_acks = false;               // until ReleaseAcks
    int cut_after_batches = 0;            // of a stream; the last one is stored, its acknowledgement lost
    std::optional<uint64_t> claim_acked;  // in Welcome, instead of the truth
  };

  std::unique_ptr<UploadStream> Connect(const std::string& address, UploadStream::Events events) override;

  void SetFaults(const Faults& faults);
  void SetHeartbeat(double seconds);

  // Sends to the stream that is open; does nothing when none is.
  void Push(const v1::CollectorMessage& message);
  void ReleaseAcks();
  void CutStream(const absl::Status& status);

  // Waits, for real, until the predicate on this collector's state holds.
  void Await(const std::function<bool(const FakeCollector&)>& predicate);

  // What was seen so far. Valid inside Await's predicate and outside.
  std::vector<uint64_t> Stored(const std::string& epoch) const;
  std::vector<std::string> Addresses() const;
  std::vector<v1::Hello> Hellos() const;
  std::vector<v1::Heartbeat> Heartbeats() const;
  std::vector<v1::AgentMessage> Others() const;
  uint64_t RecordsReceived() const;
  uint64_t LargestUnacknowledgedBytes() const;
  bool Finished() const;
  std::vector<std::string> Complaints() const;

 private:
  class Stream;
  using Actions = std::vector<std::function<void()>>;  // events to deliver once the lock is free

  void OnSend(Stream* stream, const v1::AgentMessage& message);
  void OnFinish(Stream* stream);
  void OnDestroyed(Stream* stream);
  void TakeHello(Stream* stream, const v1::Hello& hello, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeRecords(Stream* stream, const v1::RecordBatch& batch, uint64_t bytes, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddAck(Stream* stream, uint64_t sequence, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Deliver(const Actions& actions);

  mutable Mutex mu_;
  CondVar changed_;
  Faults faults_ ABSL_GUARDED_BY(mu_);
  double heartbeat_seconds_ ABSL_GUARDED_BY(mu_) = 30;
  Stream* open_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::map<std::string, std::map<uint64_t, int>> stored_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Hello> hellos_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Heartbeat> heartbeats_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::AgentMessage> others_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> complaints_ ABSL_GUARDED_BY(mu_);
  uint64_t held_ack_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t unacknowledged_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t largest_unacknowledged_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t records_received_ ABSL_GUARDED_BY(mu_) = 0;
  int acks_ ABSL_GUARDED_BY(mu_) = 0;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_TESTS_FAKES_FAKE_UPLOAD_STREAM_H_
