// Delays between tries: exponential, with full jitter, so that a fleet of agents that lost the same
// collector does not come back in step. The jitter follows M. Brooker's "Exponential Backoff And Jitter".
//
// Thread-safety: none; owned by the loop that retries.
#ifndef FLEETMARK_COMMON_BASE_BACKOFF_H_
#define FLEETMARK_COMMON_BASE_BACKOFF_H_

#include <random>

#include "absl/time/time.h"

namespace fleetmark {

class Backoff {
 public:
  struct Options {
    absl::Duration first = absl::Milliseconds(200);
    absl::Duration max = absl::Seconds(60);
    double factor = 2.0;
  };

  Backoff(Options options, uint64_t seed) : options_(options), rng_(seed), ceiling_(options.first) {}

  // The next delay: uniform between a tenth of the ceiling and the ceiling, which grows each time.
  absl::Duration Next();

  // After a success.
  void Reset() { ceiling_ = options_.first; }

 private:
  const Options options_;
  std::mt19937_64 rng_;
  absl::Duration ceiling_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_BACKOFF_H_
