#include "common/base/backoff.h"

#include <algorithm>

namespace fleetmark {

absl::Duration Backoff::Next() {
  std::uniform_real_distribution<double> share(0.1, 1.0);
  const absl::Duration delay = ceiling_ * share(rng_);
  ceiling_ = std::min(options_.max, ceiling_ * options_.factor);
  return delay;
}

}  // namespace fleetmark
