// The thread that makes records durable. It takes all offers that wait, up to a size, and stores them in
// one synced write (group commit): the more agents send, the more records share a sync.
//
// Thread-safety: all methods, any thread. Callbacks run in the committer's thread with no lock held; they
// must not block and must not destroy the Committer.
// Ownership: owns its thread; Stop, or the destructor, commits what waits and ends it.
// Errors: an offer's callback gets the status of the commit. Full: an offer is not taken, and its sender
// is told when there is room again.
#ifndef FLEETMARK_COLLECTOR_INGEST_COMMITTER_H_
#define FLEETMARK_COLLECTOR_INGEST_COMMITTER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "collector/ingest/ingest_metrics.h"
#include "collector/store/store_types.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class Committer {
 public:
  struct Options {
    size_t max_queued = 4096;
    size_t max_queued_bytes = 8 << 20;
    size_t max_group_bytes = 1 << 20;  // a group ends with the offer that reaches it
  };
  using CommitFn = std::function<absl::StatusOr<CommitResult>(absl::Span<const SenderRecords>)>;

  // One stream's offers, in order. After one of them has failed, the later ones fail with its status: else
  // the sender's watermark would pass records that are not stored.
  class Lane {
    friend class Committer;
    absl::Status failed_;  // the committer's thread alone
  };

  struct Offer {
    std::shared_ptr<Lane> lane;
    SenderRecords records;
    size_t bytes = 0;
    std::function<void(const absl::Status&)> done;  // called once
  };

  // `commit` and `on_committed` (may be empty; after each commit that stored something) are called in the
  // committer's thread.
  Committer(const Options& options, CommitFn commit, std::function<void(const CommitResult&)> on_committed,
            Clock& clock, IngestMetrics& metrics);
  ~Committer();

  // False when full or stopped; `offer` is then untouched and, unless stopped, `on_room` is called once
  // when there is room. An offer larger than all room is taken when nothing else waits.
  bool TryOffer(Offer&& offer, std::function<void()> on_room);

  // Runs `task` in the committer's thread in its turn. False when full or stopped.
  bool TryRun(std::function<void()> task);

  void Stop();

 private:
  struct Work {
    Offer offer;
    std::function<void()> task;  // if set, this is a task
  };

  bool FullLocked(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReportQueueLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Loop();
  // Waits; what to do next: one task, or offers. Empty when stopped and drained.
  std::vector<Work> NextGroup();
  void CallWaitersForRoom();
  void CommitGroup(std::vector<Work> group);
  void CommitOffers(absl::Span<Offer* const> offers);

  const Options options_;
  const CommitFn commit_;
  const std::function<void(const CommitResult&)> on_committed_;
  Clock& clock_;
  IngestMetrics& metrics_;

  Mutex mu_;
  CondVar changed_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mu_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<std::function<void()>> waiting_for_room_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_COMMITTER_H_
