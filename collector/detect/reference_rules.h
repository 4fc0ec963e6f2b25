// Which reference counts for which series. The first rule that matches a series is the one that counts.
//
// Thread-safety: immutable after Create.
#ifndef FLEETMARK_COLLECTOR_DETECT_REFERENCE_RULES_H_
#define FLEETMARK_COLLECTOR_DETECT_REFERENCE_RULES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "common/model/labels.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// Empty fields match everything. Labels match if the series, or the node, has at least these.
struct ReferenceRule {
  std::string node;  // exact, or with '*' for any run of characters
  Labels node_labels;
  std::string benchmark;  // exact, as are the rest
  std::string metric;
  Labels labels;
  v1::Reference reference;  // an empty unit is the series' own
};

class ReferenceRules {
 public:
  ReferenceRules() = default;

  // InvalidArgument "references[i]: …" for a tolerance out of range or an unknown unit.
  static absl::StatusOr<ReferenceRules> Create(std::vector<ReferenceRule> rules);

  // A rule's reference in the unit of a series. `problem` is set, and `reference` is not, where the units
  // measure different things; it names the rule only, so that a caller can report each rule once.
  struct Match {
    size_t rule = 0;
    std::optional<v1::Reference> reference;
    std::string problem;
  };
  // Nothing: no rule matches.
  std::optional<Match> Find(const v1::SeriesKey& series, const Labels& node_labels) const;

  bool uses_node_labels() const { return uses_node_labels_; }
  size_t size() const { return rules_.size(); }

 private:
  std::vector<ReferenceRule> rules_;
  bool uses_node_labels_ = false;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_REFERENCE_RULES_H_
