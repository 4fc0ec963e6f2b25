#include "collector/access/rate_limiter.h"

#include <algorithm>

namespace fleetmark::collector {
namespace {

constexpr char kOthers[] = "";
constexpr absl::Duration kSweep = absl::Seconds(1);  // not at each call while the table is full

}  // namespace

double RateLimiter::LeftAt(const Bucket& bucket, MonoTime now) const {
  const double since = std::max(0.0, absl::ToDoubleSeconds(now - bucket.at));
  return std::min(options_.at_once, bucket.left + since * options_.per_second);
}

RateLimiter::Bucket& RateLimiter::BucketOf(const std::string& key, MonoTime now) {
  const auto it = buckets_.find(key);
  if (it != buckets_.end()) return it->second;
  if (buckets_.size() >= options_.max_keys && now - swept_ >= kSweep) {
    swept_ = now;
    absl::erase_if(buckets_,
                   [&](const auto& entry) { return LeftAt(entry.second, now) >= options_.at_once; });
  }
  const Bucket full{options_.at_once, now};
  return buckets_.try_emplace(buckets_.size() >= options_.max_keys ? kOthers : key, full).first->second;
}

bool RateLimiter::Take(const std::string& key) {
  if (options_.per_second <= 0) return true;
  const MonoTime now = clock_.Mono();
  MutexLock lock(mu_);
  Bucket& bucket = BucketOf(key, now);
  bucket = {LeftAt(bucket, now), now};
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

}  // namespace fleetmark::collector
