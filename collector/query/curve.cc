#include "collector/query/curve.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "collector/detect/robust_statistics.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr int64_t kDayNs = 24 * kHourNs;

struct Samples {
  std::vector<int64_t> times;
  std::vector<double> values;
};

absl::StatusOr<Samples> ReadSamples(const Store& store, uint64_t series_id, int64_t from, int64_t to) {
  Samples samples;
  FM_RETURN_IF_ERROR(store.ScanValues(
      {series_id}, from, to,
      [&samples](uint64_t, absl::Span<const int64_t> times, absl::Span<const double> values) {
        samples.times.assign(times.begin(), times.end());
        samples.values.assign(values.begin(), values.end());
        return true;
      }));
  return samples;
}

void AddBucket(const TierSummary& bucket, v1::Curve* curve) {
  curve->add_time_ms(static_cast<double>(bucket.begin_unix_ns) / 1e6);
  curve->add_value(bucket.median);
  curve->add_low(bucket.min);
  curve->add_high(bucket.max);
  curve->add_count(static_cast<uint32_t>(std::min<uint64_t>(bucket.count, UINT32_MAX)));
}

TierSummary Summary(int64_t begin, absl::Span<const double> values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) return {begin, values.size(), values[0], values[0], values[0]};
  const auto [least, greatest] = std::minmax_element(finite.begin(), finite.end());
  return {begin, values.size(), *least, Median(finite), *greatest};
}

// Joined to buckets of `width`, which begin at multiples of it. A joined median is that of the medians.
std::vector<TierSummary> Join(const std::vector<TierSummary>& parts, int64_t width) {
  std::vector<TierSummary> joined;
  std::vector<double> medians;
  for (const TierSummary& part : parts) {
    const int64_t begin = part.begin_unix_ns / width * width;
    if (joined.empty() || joined.back().begin_unix_ns != begin) {
      joined.push_back(part);
      joined.back().begin_unix_ns = begin;
      medians = {part.median};
      continue;
    }
    TierSummary& last = joined.back();
    medians.push_back(part.median);
    last.count += part.count;
    last.min = std::min(last.min, part.min);
    last.max = std::max(last.max, part.max);
    last.median = Median(medians);
  }
  return joined;
}

std::vector<TierSummary> Buckets(const Samples& samples, int64_t width) {
  std::vector<TierSummary> buckets;
  size_t first = 0;
  while (first < samples.times.size()) {
    const int64_t begin = samples.times[first] / width * width;
    size_t end = first;
    while (end < samples.times.size() && samples.times[end] < begin + width) ++end;
    buckets.push_back(Summary(begin, absl::MakeSpan(samples.values).subspan(first, end - first)));
    first = end;
  }
  return buckets;
}

}  // namespace

absl::StatusOr<v1::Curve> ReadCurveOf(const Store& store, uint64_t series_id, int64_t from_unix_ns,
                                      int64_t to_unix_ns, size_t points) {
  v1::Curve curve;
  FM_ASSIGN_OR_RETURN(*curve.mutable_series(), store.GetSeries(series_id));
  const int64_t from = std::max(from_unix_ns, curve.series().first_unix_ns());
  const int64_t to = std::min(to_unix_ns, curve.series().last_unix_ns() + 1);
  if (from >= to) return curve;
  FM_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(store, series_id, from, to));

  const int64_t first_sample = samples.times.empty() ? to : samples.times.front();
  const bool by_day = static_cast<size_t>((first_sample - from) / kHourNs) > points;
  std::vector<TierSummary> tiers;
  if (first_sample - from >= kHourNs) {
    // The period that holds the first sample that is left may be whole in the tier: the sample counts.
    FM_ASSIGN_OR_RETURN(
        tiers, store.ReadTier(series_id, by_day ? Tier::kDaily : Tier::kHourly, from / kHourNs * kHourNs,
                              first_sample - (by_day ? kDayNs : kHourNs) + 1));
  }
  if (tiers.empty() && samples.times.size() <= points) {
    for (const int64_t time : samples.times) curve.add_time_ms(static_cast<double>(time) / 1e6);
    curve.mutable_value()->Add(samples.values.begin(), samples.values.end());
    return curve;
  }
  int64_t width =
      std::max<int64_t>((to - from) / static_cast<int64_t>(std::max<size_t>(points, 3) - 2) + 1, 1'000'000);
  if (!tiers.empty()) {
    width = std::max(width, by_day ? kDayNs : kHourNs);
    curve.set_samples_from_unix_ns(first_sample);
  }
  for (const TierSummary& bucket : Join(tiers, width)) AddBucket(bucket, &curve);
  for (const TierSummary& bucket : Buckets(samples, width)) AddBucket(bucket, &curve);
  curve.set_bucket_seconds(static_cast<double>(width) / 1e9);
  return curve;
}

}  // namespace fleetmark::collector
