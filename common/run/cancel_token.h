// Stops one run from another thread.
//
// Thread-safety: all methods, any thread. Ownership: the starter of a run owns its token, which must
// outlive the run.
#ifndef FLEETMARK_COMMON_RUN_CANCEL_TOKEN_H_
#define FLEETMARK_COMMON_RUN_CANCEL_TOKEN_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/mutex.h"

namespace fleetmark {

// Who wants the run to end.
enum class CancelCause {
  kRequest,   // a person
  kShutdown,  // the agent stops
  kGate,      // the node's users need it: it must be gone within a second
};

class CancelToken {
 public:
  CancelToken() = default;
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // The first reason stays.
  void Cancel(std::string_view reason, CancelCause cause = CancelCause::kRequest) {
    MutexLock lock(mu_);
    if (cancelled_) return;
    cancelled_ = true;
    cause_ = cause;
    reason_ = std::string(reason);
    if (wake_) wake_();
  }

  bool cancelled() const {
    MutexLock lock(mu_);
    return cancelled_;
  }

  std::string reason() const {
    MutexLock lock(mu_);
    return reason_;
  }

  CancelCause cause() const {
    MutexLock lock(mu_);
    return cause_;
  }

  // For a runner, while it lives: `wake` is called once, with the token's lock held, when the token is
  // cancelled, at once if it is already. It must not block.
  class Listener {
   public:
    Listener(CancelToken& token, std::function<void()> wake) : token_(token) {
      MutexLock lock(token_.mu_);
      token_.wake_ = std::move(wake);
      if (token_.cancelled_) token_.wake_();
    }
    ~Listener() {
      MutexLock lock(token_.mu_);
      token_.wake_ = nullptr;
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    CancelToken& token_;
  };

 private:
  mutable Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  CancelCause cause_ ABSL_GUARDED_BY(mu_) = CancelCause::kRequest;
  std::string reason_ ABSL_GUARDED_BY(mu_);
  std::function<void()> wake_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_CANCEL_TOKEN_H_
