// Carries the progress of a run from the agent's stream to a slower reader: bounded, and what counts is
// never lost. When it is full the oldest message that isn't the last of the run is dropped, since a newer
// one says more.
//
// Thread-safety: all methods, any thread; one reader.
#ifndef FLEETMARK_COLLECTOR_QUERY_PROGRESS_BUFFER_H_
#define FLEETMARK_COLLECTOR_QUERY_PROGRESS_BUFFER_H_

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::collector {

// STATE_FINISHED and STATE_REFUSED end a run.
bool IsLast(const v1::RunProgress& progress);

class ProgressBuffer {
 public:
  explicit ProgressBuffer(size_t capacity = 64) : capacity_(capacity) {}

  // Without effect once it is closed.
  void Push(v1::RunProgress progress);

  // Nothing more comes: what is there can still be read, then `why` is given. The first call counts.
  void Close(const absl::Status& why);

  enum class Got { kMessage, kTimeout, kClosed };
  // Waits for the next message until `timeout` has passed. `*why` is set with kClosed.
  Got Next(Clock& clock, absl::Duration timeout, v1::RunProgress* out, absl::Status* why);

 private:
  const size_t capacity_;
  Mutex mu_;
  CondVar not_empty_;
  std::deque<v1::RunProgress> messages_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PROGRESS_BUFFER_H_
