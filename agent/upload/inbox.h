// Where a stream's events wait for the uploader's thread, and what wakes that thread.
//
// Bounded: acknowledgements fold into one; other messages may be `kMaxMessages` and `kMaxBytes`. A collector
// that sends more before they are handled has broken the stream, which Take then says.
//
// Thread-safety: all methods, any thread. Ownership: the clock outlives it.
#ifndef FLEETMARK_AGENT_UPLOAD_INBOX_H_
#define FLEETMARK_AGENT_UPLOAD_INBOX_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "agent/upload/upload_stream.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::agent {

class Inbox {
 public:
  static constexpr size_t kMaxMessages = 256;
  static constexpr size_t kMaxBytes = 8 << 20;

  // What came since the last Take.
  struct Content {
    bool writable = false;
    uint64_t acked = 0;  // 0: nothing
    std::vector<v1::CollectorMessage> messages;
    std::optional<absl::Status> closed;
  };

  explicit Inbox(Clock& clock) : clock_(clock) {}

  UploadStream::Events Events();

  // Wakes the waiting thread without an event of the stream.
  void Wake();

  // Waits for an event or a Wake since the last Take, at most until `deadline`, and takes what there is.
  Content Take(MonoTime deadline);

  // Forgets what an earlier stream left.
  void Clear();

 private:
  void OnMessage(v1::CollectorMessage message);

  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  Content content_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_INBOX_H_
