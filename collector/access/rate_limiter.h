// Bounds how often each of many may do something: a token bucket for each key.
//
// Bounded: `max_keys` buckets. Those that are full again are forgotten first; when there are still too many,
// keys without a bucket share one.
//
// Thread-safety: any thread.
#ifndef FLEETMARK_COLLECTOR_ACCESS_RATE_LIMITER_H_
#define FLEETMARK_COLLECTOR_ACCESS_RATE_LIMITER_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class RateLimiter {
 public:
  struct Options {
    double per_second = 0;  // 0: no bound
    double at_once = 1;     // after a rest
    size_t max_keys = 10'000;
  };
  RateLimiter(Options options, Clock& clock) : options_(options), clock_(clock) {}

  // True when `key` may, which then counts.
  bool Take(const std::string& key);

 private:
  struct Bucket {
    double left = 0;
    MonoTime at;
  };
  double LeftAt(const Bucket& bucket, MonoTime now) const;
  Bucket& BucketOf(const std::string& key, MonoTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Clock& clock_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mu_);
  MonoTime swept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_RATE_LIMITER_H_
