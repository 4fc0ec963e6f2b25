// Changes of spread: places where residuals become larger or smaller in magnitude while their level stays.
//
// The ranks of the magnitudes are turned into normal scores (as in J. Klotz, "Nonparametric tests for scale",
// 1962) and searched for levels like a series: neither heavy tails nor a few wild values look like a
// change of spread then.
//
// Thread-safety: functions without state. Values must be finite.
#ifndef FLEETMARK_COMMON_DETECT_SPREAD_CHANGE_H_
#define FLEETMARK_COMMON_DETECT_SPREAD_CHANGE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::detect {

struct SpreadChange {
  size_t index = 0;
  size_t onset_low = 0, onset_high = 0;
  double before = 0;  // robust standard deviations
  double after = 0;
  double score = 0;
  double p_value = 1;
};

std::vector<SpreadChange> FindSpreadChanges(absl::Span<const double> residuals, double p_limit);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_SPREAD_CHANGE_H_
