// The alerts as they are known: those of late in memory, for readers, and the writes that change them with
// their history and the notices that are due. A write is synced before readers see it and before its notices
// are handed on, so that a crash at any moment neither loses nor doubles one.
//
// Memory: the alerts that are not resolved, and those that may yet be opened again; the keys of the notices
// that were given up.
// Thread-safety: const methods, any thread; the rest by one thread at a time (the engine's turn).
// Ownership: tables and metrics must outlive it. `on_notices` must only take them, and not call back.
// Errors: those of the store; after one nothing has changed.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_BOOK_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_BOOK_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/alert/alert_life.h"
#include "collector/store/alert_tables.h"
#include "common/base/mutex.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Counter;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class AlertBook {
 public:
  using AlertPtr = std::shared_ptr<const v1::Alert>;

  struct Options {
    AlertTables* tables = nullptr;
    Metrics* metrics = nullptr;
    std::vector<std::string> receivers;  // all that there are
    std::function<void(std::vector<StoredNotice>)> on_notices;
    size_t max_waiting = 0;  // notices of one receiver; further ones are given up at once
    size_t max_dead = 0;     // of one receiver that are kept; then the oldest are removed
  };

  // Changes that are written together.
  struct Batch {
    AlertWrite write;
    std::map<std::string, size_t> queued;  // notices by receiver
  };

  explicit AlertBook(Options options);

  // Reads those that `keep` wants, the silences, and the queue, which is handed on.
  absl::Status Load(absl::FunctionRef<bool(const v1::Alert&)> keep);

  std::map<std::string, AlertPtr> Known() const;
  std::vector<AlertPtr> Current() const;  // newest first
  // By its id, also from the store, or the last characters of one that is known. NotFound; InvalidArgument
  // when several end so.
  absl::StatusOr<v1::Alert> Find(const std::string& id) const;
  std::vector<v1::Silence> Silences() const;  // newest first
  size_t DeadOf(const std::string& receiver) const;
  bool HasReceiver(const std::string& name) const;

  // The alert after a step, its history, and its notices: one for each receiver.
  void AddStep(v1::Alert alert, const AlertStep& step, absl::Time now, Batch* batch);
  // The oldest of the receiver's that were given up make room.
  void AddDead(StoredNotice stored, Batch* batch);
  // Writes what is there and empties it.
  absl::Status Commit(Batch* batch);
  // A notice is no longer in the queue.
  void TookOut(const std::string& receiver);

  // New, or in place of the one with its id.
  absl::Status PutSilence(const v1::Silence& silence);

  // Those that `done` names are only in the store from now on.
  void Forget(absl::FunctionRef<bool(const v1::Alert&)> done);

 private:
  const Options options_;
  AlertTables& tables_;
  Counter& made_;
  Counter& dead_;
  std::map<std::string, size_t> waiting_;  // notices in the queue, by receiver; the writer's

  mutable Mutex mu_;
  std::map<std::string, AlertPtr> alerts_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::Silence> silences_ ABSL_GUARDED_BY(mu_);  // oldest first
  std::map<std::string, std::deque<NoticeKey>> dead_keys_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_BOOK_H_
