// Sends every stored sample on to a Prometheus-compatible store, by remote write 1.0.
//
// Offer puts the samples of a commit into a durable queue before the agents are told that the commit is done;
// a thread takes them out and posts them. So each sample is sent at least once, also over crashes of either
// side; a repeated one is the same sample again, which such stores take as one.
//
// Answers: 2xx takes the samples off the queue; 429, 5xx, and no answer are tried again with back-off, or
// after Retry-After; any other status drops the samples of that request, which are counted. When the queue is
// full its oldest samples are dropped and counted.
//
// Thread-safety: Offer from the committer's thread; Start and Stop from the owner's.
// Ownership: owns its thread and the queue's folder; clock and metrics must outlive it.
// Errors: Start returns those of the queue's folder. Later ones are counted and logged once until they are
// over.
#ifndef FLEETMARK_COLLECTOR_REMOTE_REMOTE_WRITER_H_
#define FLEETMARK_COLLECTOR_REMOTE_REMOTE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "collector/remote/segment_queue.h"
#include "collector/remote/write_request.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/http/http_client.h"

namespace fleetmark {
class Counter;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class RemoteWriter {
 public:
  struct Options {
    HttpUrl url;
    std::string bearer_token_file;  // read anew for each request; empty: none
    std::string ca_file;
    absl::Duration timeout = absl::Seconds(30);
    uint64_t max_samples_per_request = 2000;
    SegmentQueue::Options queue;
    Backoff::Options backoff{.first = absl::Milliseconds(200), .max = absl::Minutes(1)};
    uint64_t seed = 1;  // of the jitter
    NodeLabelsFn node_labels;
  };

  RemoteWriter(Options options, Clock& clock, Metrics& metrics);
  ~RemoteWriter();

  absl::Status Start();

  // Durable on return. Samples that the disk does not take are dropped and counted: the commit is not undone.
  void Offer(absl::Span<const SenderRecords> batch);

  // Ends the thread after the request under way. What is left is sent after the next start.
  void Stop();

  // Samples that wait.
  uint64_t pending() const;

 private:
  enum class Verdict { kTaken, kRefused, kAgain };

  void Loop();
  // Waits for something to send; false when stopping.
  bool WaitForWork();
  bool WaitUntil(MonoTime deadline);  // false when stopping
  Verdict Send(const SegmentQueue::Batch& batch, absl::Duration* wait);
  Verdict Judge(const absl::StatusOr<HttpResponse>& answer, absl::Duration* wait);
  void ReportTrouble(const std::string& what);

  const Options options_;
  Clock& clock_;
  Counter& sent_;
  Counter& refused_;
  Counter& overflowed_;
  Counter& unqueued_;
  Counter& retries_;
  std::unique_ptr<SegmentQueue> queue_;
  uint64_t overflow_seen_ = 0;  // the committer's thread alone
  bool troubled_ = false;       // the thread's own, as the back-off
  Backoff backoff_;

  Mutex mu_;
  CondVar changed_;
  bool offered_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_REMOTE_REMOTE_WRITER_H_
