// Which fact separates those that changed from those that did not: for each value of each fact or label,
// Fisher's exact test of "changed" against "has this value", Bonferroni-corrected for the number of distinct
// groupings that the values make. Values that stand for the same set of units are one grouping, told as one.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_EXPLANATION_H_
#define FLEETMARK_COLLECTOR_FLEET_EXPLANATION_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

using Attributes = std::map<std::string, std::string>;

struct ExplainedUnit {
  const Attributes* attributes = nullptr;
  bool changed = false;
  // Names of attributes that took their value near the onset; null: none. They come first among equals.
  const std::set<std::string>* fresh = nullptr;
};

// Best first, at most `limit`. `units_name` is what one unit is called, "node". Only values of two units or
// more are tried that a changed unit has and that some unit has not. `p_value` is corrected; at most `max_p`.
std::vector<v1::Explanation> Explain(absl::Span<const ExplainedUnit> units, std::string_view units_name,
                                     double max_p, size_t limit);

// "23 of 24 nodes with gpu.driver 570.124, 0 of 180 others".
std::string ExplanationText(const v1::Explanation& explanation);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_EXPLANATION_H_
