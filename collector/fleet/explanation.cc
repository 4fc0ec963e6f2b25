#include "collector/fleet/explanation.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/fleet/exact_tests.h"

namespace fleetmark::collector {
namespace {

constexpr int kMaxEquivalent = 8;  // other names of the same grouping that are told

struct Grouping {
  std::string name;
  std::string value;
  std::vector<size_t> units;  // ascending
  size_t changed = 0;
  size_t fresh = 0;  // changed units whose attribute took this value near the onset
};

std::vector<Grouping> GroupingsOf(absl::Span<const ExplainedUnit> units) {
  std::map<std::pair<std::string_view, std::string_view>, Grouping> by_value;
  for (const ExplainedUnit& unit : units) {  // only what a changed unit has can explain
    if (!unit.changed) continue;
    for (const auto& [name, value] : *unit.attributes) by_value[{name, value}];
  }
  for (size_t i = 0; i < units.size(); ++i) {
    for (const auto& [name, value] : *units[i].attributes) {
      const auto it = by_value.find({name, value});
      if (it == by_value.end()) continue;
      it->second.units.push_back(i);
      if (!units[i].changed) continue;
      ++it->second.changed;
      if (units[i].fresh != nullptr && units[i].fresh->contains(name)) ++it->second.fresh;
    }
  }
  std::vector<Grouping> groupings;
  for (auto& [key, grouping] : by_value) {
    if (grouping.units.size() == units.size() || grouping.units.size() < 2) continue;
    grouping.name = std::string(key.first);
    grouping.value = std::string(key.second);
    groupings.push_back(std::move(grouping));
  }
  return groupings;
}

}  // namespace

std::vector<v1::Explanation> Explain(absl::Span<const ExplainedUnit> units, std::string_view units_name,
                                     double max_p, size_t limit) {
  std::vector<Grouping> groupings = GroupingsOf(units);
  // The same set of units next to one another, the freshest name of each first.
  std::sort(groupings.begin(), groupings.end(), [](const Grouping& a, const Grouping& b) {
    return std::tie(a.units, b.fresh, a.name, a.value) < std::tie(b.units, a.fresh, b.name, b.value);
  });
  size_t changed = 0;
  for (const ExplainedUnit& unit : units) changed += unit.changed ? 1 : 0;
  std::vector<std::pair<size_t, v1::Explanation>> found;  // with how fresh it is
  size_t distinct = 0;
  for (size_t i = 0; i < groupings.size(); ++distinct) {
    const Grouping& first = groupings[i];
    v1::Explanation explanation;
    explanation.set_attribute(first.name);
    explanation.set_value(first.value);
    explanation.set_units(std::string(units_name));
    explanation.set_changed_with(static_cast<uint32_t>(first.changed));
    explanation.set_total_with(static_cast<uint32_t>(first.units.size()));
    explanation.set_changed_without(static_cast<uint32_t>(changed - first.changed));
    explanation.set_total_without(static_cast<uint32_t>(units.size() - first.units.size()));
    explanation.set_p_value(FisherUpperTail(first.changed, first.units.size(), changed, units.size()));
    size_t end = i + 1;
    for (; end < groupings.size() && groupings[end].units == first.units; ++end) {
      if (explanation.equivalent_size() == kMaxEquivalent) continue;
      explanation.add_equivalent(absl::StrCat(groupings[end].name, " ", groupings[end].value));
    }
    found.emplace_back(first.fresh, std::move(explanation));
    i = end;
  }
  std::vector<v1::Explanation> best;
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    if (a.second.p_value() != b.second.p_value()) return a.second.p_value() < b.second.p_value();
    return a.first > b.first;
  });
  for (auto& [fresh, explanation] : found) {
    explanation.set_p_value(std::min(1.0, explanation.p_value() * static_cast<double>(distinct)));
    if (explanation.p_value() > max_p || best.size() == limit) break;
    best.push_back(std::move(explanation));
  }
  return best;
}

std::string ExplanationText(const v1::Explanation& e) {
  return absl::StrCat(e.changed_with(), " of ", e.total_with(), " ", e.units(),
                      e.total_with() == 1 ? "" : "s", " with ", e.attribute(), " ", e.value(), ", ",
                      e.changed_without(), " of ", e.total_without(), " others");
}

}  // namespace fleetmark::collector
