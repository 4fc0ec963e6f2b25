// Posting lists in memory: from label values to the series that have them, so that a selector looks at values
// rather than at series.
//
// Thread-safety: const methods from any thread; Add before. Ownership: holds the label sets that it is given.
#ifndef FLEETMARK_COLLECTOR_PROMQL_LABEL_INDEX_H_
#define FLEETMARK_COLLECTOR_PROMQL_LABEL_INDEX_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "collector/promql/label_set.h"
#include "collector/promql/matcher.h"

namespace fleetmark::collector::promql {

class LabelIndex {
 public:
  // Positions count from 0 in the order of Add.
  void Add(Metric metric);
  size_t size() const { return metrics_.size(); }
  const Metric& At(size_t position) const { return metrics_[position]; }

  // The positions of those that all matchers match, ascending. No matcher: all.
  std::vector<uint32_t> Find(const Matchers& matchers) const;

 private:
  using Positions = std::vector<uint32_t>;  // ascending
  // The positions with a value of the label that the matcher matches, or with `invert` does not.
  Positions WithValue(const Matcher& matcher, bool invert) const;

  std::vector<Metric> metrics_;
  absl::flat_hash_map<std::string, std::map<std::string, Positions>> postings_;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_LABEL_INDEX_H_
