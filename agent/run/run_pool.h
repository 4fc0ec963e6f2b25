// The threads that runs execute in: one for each run while it lasts, none at rest.
//
// Thread-safety: all methods, any thread. Ownership: Stop (or the destructor) ends all runs and joins their
// threads; what a run's body refers to must live until then.
#ifndef FLEETMARK_AGENT_RUN_RUN_POOL_H_
#define FLEETMARK_AGENT_RUN_RUN_POOL_H_

#include <functional>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "common/base/mutex.h"
#include "common/run/cancel_token.h"

namespace fleetmark::agent {

class RunPool {
 public:
  struct Running {
    std::string run_id;
    std::string benchmark;
    std::string request_id;
  };
  using Body = absl::AnyInvocable<void(CancelToken&)>;

  // `on_ended`, unless empty, is called in the thread of a run that is no longer among those running.
  explicit RunPool(size_t max_concurrent, std::function<void()> on_ended = {})
      : max_concurrent_(max_concurrent), on_ended_(std::move(on_ended)) {}
  ~RunPool() { Stop("the agent stops"); }

  // Runs `body` in a thread of its own. ResourceExhausted when as many as allowed are running, Cancelled
  // when stopping; `body` is then not called.
  absl::Status Start(Running identity, Body body);

  // Cancels the runs that match; an empty id matches none. False when there was none.
  bool Cancel(const std::string& run_id, const std::string& request_id, const std::string& reason);

  // Cancels all, refuses new ones, and returns when every thread has ended. Idempotent.
  void Stop(const std::string& reason);

  std::vector<Running> running() const;

 private:
  struct Slot {
    Running identity;
    CancelToken cancel;
    std::thread thread;
    bool done = false;
  };

  // In the run's thread, at its end.
  void End(Slot& slot);
  // Takes the slots of ended runs out, for their threads to be joined without the lock.
  std::list<Slot> TakeDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t max_concurrent_;
  const std::function<void()> on_ended_;
  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Slot> slots_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_RUN_RUN_POOL_H_
