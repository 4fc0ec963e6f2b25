#include "collector/promql/label_index.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace fleetmark::collector::promql {

void LabelIndex::Add(Metric metric) {
  const auto position = static_cast<uint32_t>(metrics_.size());
  for (const Label& label : *metric) postings_[label.name][label.value].push_back(position);
  metrics_.push_back(std::move(metric));
}

LabelIndex::Positions LabelIndex::WithValue(const Matcher& matcher, bool invert) const {
  Positions out;
  const auto name = postings_.find(matcher.name());
  if (name == postings_.end()) return out;
  if (matcher.op() == Matcher::Op::kEqual && !invert) {
    const auto value = name->second.find(matcher.value());
    return value == name->second.end() ? out : value->second;
  }
  for (const auto& [value, positions] : name->second) {
    if (matcher.Matches(value) == invert) continue;
    out.insert(out.end(), positions.begin(), positions.end());
  }
  std::sort(out.begin(), out.end());  // a series has one value of a label, so none comes twice
  return out;
}

std::vector<uint32_t> LabelIndex::Find(const Matchers& matchers) const {
  Positions found;
  bool all = true;
  for (const Matcher& matcher : matchers) {
    if (matcher.Matches("")) continue;
    Positions with = WithValue(matcher, false);
    if (std::exchange(all, false)) {
      found = std::move(with);
      continue;
    }
    Positions both;
    std::set_intersection(found.begin(), found.end(), with.begin(), with.end(), std::back_inserter(both));
    found = std::move(both);
  }
  if (all) {
    found.resize(metrics_.size());
    std::iota(found.begin(), found.end(), 0U);
  }
  // What also matches series without the label takes away those with a wrong value.
  for (const Matcher& matcher : matchers) {
    if (!matcher.Matches("") || found.empty()) continue;
    const Positions without = WithValue(matcher, true);
    Positions rest;
    std::set_difference(found.begin(), found.end(), without.begin(), without.end(), std::back_inserter(rest));
    found = std::move(rest);
  }
  return found;
}

}  // namespace fleetmark::collector::promql
