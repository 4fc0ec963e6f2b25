// A bounded queue between threads that can be closed.
//
// Thread-safety: all methods, any thread. A closed queue takes nothing more; what it holds can still be
// taken out, after which Pop says that it's over.
#ifndef FLEETMARK_COMMON_BASE_BOUNDED_QUEUE_H_
#define FLEETMARK_COMMON_BASE_BOUNDED_QUEUE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace fleetmark {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // False when full or closed; `value` is then untouched.
  bool TryPush(T&& value) {
    MutexLock lock(mu_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    not_empty_.NotifyOne();
    return true;
  }

  // Waits for an item. Empty when closed and drained.
  std::optional<T> Pop() {
    MutexLock lock(mu_);
    while (items_.empty() && !closed_) not_empty_.Wait(mu_);
    if (items_.empty()) return std::nullopt;
    T value = std::move(items_.front());
    items_.pop_front();
    return value;
  }

  // Waits for at least one item and takes up to `max`. Empty when closed and drained.
  std::vector<T> PopBatch(size_t max) {
    MutexLock lock(mu_);
    while (items_.empty() && !closed_) not_empty_.Wait(mu_);
    std::vector<T> out;
    while (!items_.empty() && out.size() < max) {
      out.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    return out;
  }

  void Close() {
    MutexLock lock(mu_);
    closed_ = true;
    not_empty_.NotifyAll();
  }

  size_t size() const {
    MutexLock lock(mu_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable Mutex mu_;
  CondVar not_empty_;
  std::deque<T> items_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_BOUNDED_QUEUE_H_
