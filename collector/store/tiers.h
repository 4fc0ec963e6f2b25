// Tiers: what is kept of samples for longer than the samples themselves: of each hour, and of each day (UTC),
// the least, the median, the greatest, and how many.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such value,
// FailedPrecondition for one of a newer version.
#ifndef FLEETMARK_COLLECTOR_STORE_TIERS_H_
#define FLEETMARK_COLLECTOR_STORE_TIERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "collector/store/store_types.h"

namespace fleetmark::collector {

inline constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
inline constexpr int64_t kDayNs = 24 * kHourNs;

int64_t DayOf(int64_t time_unix_ns);

// The length of the tier's periods, and of the window whose periods one value holds.
int64_t PeriodNs(Tier tier);
int64_t WindowNs(Tier tier);
// The window that holds the time.
int64_t WindowOf(Tier tier, int64_t time_unix_ns);

// `times` ascending. One for each period that has a sample, ascending. A NaN counts, but is no least or
// greatest unless there is nothing else.
std::vector<TierSummary> Summarise(Tier tier, absl::Span<const int64_t> times,
                                   absl::Span<const double> values);

// Of one window; at most kMaxRows.
std::string EncodeSummaries(const std::vector<TierSummary>& summaries);
absl::Status DecodeSummaries(std::string_view value, std::vector<TierSummary>* summaries);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_TIERS_H_
