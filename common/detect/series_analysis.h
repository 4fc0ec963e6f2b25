// Finds what changed in a series that is there as a whole: lasting and passing changes of level, drifts, and
// changes of spread, each with its place, size and probability.
//
// Levels and noise come from level_model.h, on values without their outliers: a single wild value is never a
// finding. Work is bounded: a series of more than 2,000 values is looked at in windows of so many that
// overlap.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_DETECT_SERIES_ANALYSIS_H_
#define FLEETMARK_COMMON_DETECT_SERIES_ANALYSIS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::detect {

enum class Kind { kChange, kSpread, kDrift };

struct SeriesFinding {
  Kind kind = Kind::kChange;
  size_t index = 0;      // first sample of the new level
  size_t onset_low = 0;  // it began between these, both included
  size_t onset_high = 0;
  double before = 0;  // level; of a drift, at its begin; of a change of spread, standard deviation
  double after = 0;
  double change_low = 0;  // of after - before, 95 %
  double change_high = 0;
  double score = 0;     // in standard deviations of a normal
  double p_value = 1;   // corrected for having looked everywhere in the series
  bool lasting = true;  // the level did not return within the series
};

struct AnalysisOptions {
  // That a series without any change may show, on average. Sets the limit of each finding's probability.
  double false_findings_per_1000 = 0.1;
};

// `values` must be finite. In the order of their index; none for fewer than 11 values.
std::vector<SeriesFinding> AnalyseSeries(absl::Span<const double> values, const AnalysisOptions& options);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_SERIES_ANALYSIS_H_
