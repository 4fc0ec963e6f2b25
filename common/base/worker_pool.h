// A few threads that take work from a bounded queue, so that work which waits for a disk never holds up
// gRPC's own threads.
//
// Thread-safety: Submit from any thread. Ownership: owns its threads; the destructor finishes what was
// submitted and joins them.
#ifndef FLEETMARK_COMMON_BASE_WORKER_POOL_H_
#define FLEETMARK_COMMON_BASE_WORKER_POOL_H_

#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/bounded_queue.h"

namespace fleetmark {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t queue) : work_(queue) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        while (auto work = work_.Pop()) (*work)();
      });
    }
  }
  ~WorkerPool() {
    work_.Close();
    for (std::thread& thread : threads_) thread.join();
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue is full.
  bool Submit(std::function<void()> work) { return work_.TryPush(std::move(work)); }

 private:
  BoundedQueue<std::function<void()>> work_;
  std::vector<std::thread> threads_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_WORKER_POOL_H_
