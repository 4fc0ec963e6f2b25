#include "collector/fleet/fleet_shift.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/fleet/exact_tests.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kExplanations = 5;
constexpr size_t kMaxCandidates = 200;  // values of facts that were changed; the most frequent are tried

std::string MeasureKey(const ChangedSeries& series) {
  return absl::StrCat(series.benchmark, "\n", series.metric);
}

using Members = std::vector<size_t>;

class Joiner {
 public:
  Joiner(const FleetShiftInput& input, int64_t now_unix_ns, const FleetShiftOptions& options)
      : input_(input), options_(options), now_(now_unix_ns), taken_(input.changed.size(), false) {}

  std::vector<SeriesGroup> Run() {
    for (const int direction :
         {v1::Finding::DIRECTION_WORSE, v1::Finding::DIRECTION_BETTER, v1::Finding::DIRECTION_NEUTRAL}) {
      JoinByFreshFacts(direction);
      for (Members& cluster : InTime(direction)) JoinCluster(std::move(cluster));
    }
    return std::move(groups_);
  }

 private:
  const ChangedSeries& At(size_t i) const { return input_.changed[i]; }

  Members Free(int direction) const {
    Members free;
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i] && At(i).direction == direction) free.push_back(i);
    }
    return free;
  }

  std::set<std::string> NodesOf(const Members& members) const {
    std::set<std::string> nodes;
    for (const size_t i : members) nodes.insert(At(i).node);
    return nodes;
  }

  // The attributes of a node that took their value shortly before this change, or while it came about.
  std::set<std::string> FreshNames(size_t i) const {
    std::set<std::string> names;
    const auto node = input_.nodes->find(At(i).node);
    if (node == input_.nodes->end()) return names;
    const int64_t earliest =
        At(i).onset_earliest_unix_ns != 0 ? At(i).onset_earliest_unix_ns : At(i).onset_latest_unix_ns;
    for (const auto& [name, time] : node->second.changed_at) {
      if (time >= earliest - options_.fact_window_ns &&
          time <= At(i).onset_latest_unix_ns + options_.slack_ns) {
        names.insert(name);
      }
    }
    return names;
  }

  void Emit(SeriesGroup group, Members members) {
    std::sort(members.begin(), members.end());
    for (const size_t i : members) taken_[i] = true;
    group.nodes = NodesOf(members).size();
    group.members = std::move(members);
    groups_.push_back(std::move(group));
  }

  // --- nodes and facts ----------------------------------------------------------------------------------

  // All nodes on which what the members measure is measured, with who changed.
  struct NodeUnits {
    std::vector<std::string> names;
    std::vector<std::set<std::string>> fresh;
    std::vector<ExplainedUnit> units;
  };
  NodeUnits UnitsOf(const Members& members) const {
    std::set<std::string> measures, nodes = NodesOf(members);
    const std::set<std::string> changed = nodes;
    for (const size_t i : members) measures.insert(MeasureKey(At(i)));
    for (const std::string& measure : measures) {
      const auto it = input_.measurements->find(measure);
      if (it != input_.measurements->end()) nodes.insert(it->second.nodes.begin(), it->second.nodes.end());
    }
    std::map<std::string, std::set<std::string>> fresh;
    for (const size_t i : members) fresh[At(i).node].merge(FreshNames(i));
    static const Attributes kNone;
    NodeUnits out;
    out.names.assign(nodes.begin(), nodes.end());
    out.fresh.reserve(nodes.size());
    for (const std::string& name : out.names) {
      const auto node = input_.nodes->find(name);
      out.fresh.push_back(fresh[name]);
      out.units.push_back({node == input_.nodes->end() ? &kNone : &node->second.attributes,
                           changed.contains(name), &out.fresh.back()});
    }
    return out;
  }

  bool Has(size_t i, const v1::Explanation& explanation) const {
    const auto node = input_.nodes->find(At(i).node);
    if (node == input_.nodes->end()) return false;
    const auto it = node->second.attributes.find(explanation.attribute());
    return it != node->second.attributes.end() && it->second == explanation.value();
  }

  // --- 1. facts that changed before ------------------------------------------------------------------------

  void JoinByFreshFacts(int direction) {
    std::map<std::pair<std::string, std::string>, Members> by_fact;
    for (const size_t i : Free(direction)) {
      const auto node = input_.nodes->find(At(i).node);
      if (node == input_.nodes->end()) continue;
      for (const std::string& name : FreshNames(i)) {
        const auto it = node->second.attributes.find(name);
        if (it != node->second.attributes.end()) by_fact[{name, it->second}].push_back(i);
      }
    }
    std::vector<Members> candidates;
    for (auto& [fact, members] : by_fact) candidates.push_back(std::move(members));
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Members& a, const Members& b) { return a.size() > b.size(); });
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
    for (Members& members : candidates) {
      std::erase_if(members, [this](size_t i) { return taken_[i]; });
      if (NodesOf(members).size() < 2) continue;
      TakeExplained(members, static_cast<double>(candidates.size()), true);
    }
  }

  // Takes those of `members` that the best explanation holds for. `tries`: how often a set was looked for.
  bool TakeExplained(const Members& members, double tries, bool fresh_only) {
    const NodeUnits units = UnitsOf(members);
    std::vector<v1::Explanation> explanations =
        Explain(units.units, "node", options_.max_p / tries, kExplanations);
    if (explanations.empty()) return false;
    Members explained;
    for (const size_t i : members) {
      if (!Has(i, explanations[0])) continue;
      if (fresh_only && !FreshNames(i).contains(explanations[0].attribute())) continue;
      explained.push_back(i);
    }
    if (NodesOf(explained).size() < 2) return false;
    SeriesGroup group;
    group.p_value = std::min(1.0, explanations[0].p_value() * tries);
    group.text = ExplanationText(explanations[0]);
    group.explanations = std::move(explanations);
    Emit(std::move(group), std::move(explained));
    return true;
  }

  // --- 2. close in time -----------------------------------------------------------------------------------

  std::vector<Members> InTime(int direction) const {
    Members order = Free(direction);
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return At(a).onset_latest_unix_ns < At(b).onset_latest_unix_ns;
    });
    std::vector<Members> clusters;
    int64_t begin = 0, end = 0;
    for (const size_t i : order) {
      const int64_t latest = At(i).onset_latest_unix_ns;
      const int64_t earliest = At(i).onset_earliest_unix_ns != 0 ? At(i).onset_earliest_unix_ns : latest;
      const bool joins =
          !clusters.empty() && earliest <= end + options_.slack_ns && latest - begin <= options_.longest_ns;
      if (!joins) {
        clusters.emplace_back();
        begin = latest;
      }
      end = latest;
      clusters.back().push_back(i);
    }
    return clusters;
  }

  void JoinCluster(Members cluster) {
    while (NodesOf(cluster).size() >= 2 && TakeExplained(cluster, 1, false)) {
      std::erase_if(cluster, [this](size_t i) { return taken_[i]; });
    }
    if (NodesOf(cluster).size() >= 2 && (TakeMeasurement(cluster) || TakeCoincidence(cluster))) return;
    JoinByNode(cluster);
  }

  // All or most nodes changed, but only in some measurements: a benchmark, a plugin version.
  bool TakeMeasurement(const Members& cluster) {
    std::set<std::pair<std::string, std::string>> changed;  // node, measure
    for (const size_t i : cluster) changed.emplace(At(i).node, MeasureKey(At(i)));
    std::vector<ExplainedUnit> units;
    for (const auto& [key, measured] : *input_.measurements) {
      for (const std::string& node : measured.nodes) {
        units.push_back({&measured.measurement, changed.contains({node, key}), nullptr});
      }
    }
    std::vector<v1::Explanation> explanations = Explain(units, "measurement", options_.max_p, kExplanations);
    if (explanations.empty()) return false;
    const v1::Explanation& best = explanations[0];
    Members explained;
    for (const size_t i : cluster) {
      const auto it = At(i).measurement.find(best.attribute());
      if (it != At(i).measurement.end() && it->second == best.value()) explained.push_back(i);
    }
    // Of one benchmark's nodes at least half: else it says only what is measured at all.
    if (NodesOf(explained).size() < 2 || best.changed_with() * 2 < best.total_with()) return false;
    SeriesGroup group;
    group.p_value = best.p_value();
    group.text = ExplanationText(best);
    group.explanations = std::move(explanations);
    Emit(std::move(group), std::move(explained));
    return true;
  }

  // So many nodes at once, at the rate that nodes change in the rest of the horizon.
  bool TakeCoincidence(const Members& cluster) {
    const NodeUnits units = UnitsOf(cluster);
    const size_t changed = NodesOf(cluster).size(), all = units.names.size();
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (const size_t i : cluster) {
      begin = std::min(begin, At(i).onset_latest_unix_ns);
      end = std::max(end, At(i).onset_latest_unix_ns);
    }
    std::set<std::pair<std::string, int64_t>> elsewhere;
    for (size_t i = 0; i < input_.changed.size(); ++i) {
      const int64_t onset = At(i).onset_latest_unix_ns;
      const bool recent = onset >= now_ - options_.horizon_ns;
      if (recent && (onset < begin || onset > end)) elsewhere.emplace(At(i).node, onset / options_.slack_ns);
    }
    const auto span = static_cast<double>(end - begin + options_.slack_ns);
    const double per_node = (static_cast<double>(elsewhere.size()) + 1) / static_cast<double>(all) * span /
                            static_cast<double>(options_.horizon_ns);
    const double p = BinomialUpperTail(changed, all, std::min(1.0, per_node)) *
                     std::max(1.0, static_cast<double>(options_.horizon_ns) / span);
    if (p > options_.max_coincidence_p && changed < all) return false;
    SeriesGroup group;
    group.p_value = std::min(1.0, p);
    group.text = changed == all ? absl::StrCat("all ", all, " nodes changed at once")
                                : absl::StrCat(changed, " of ", all,
                                               " nodes changed at once; no fact or label separates them");
    Emit(std::move(group), cluster);
    return true;
  }

  // --- 3. one node ----------------------------------------------------------------------------------------

  void JoinByNode(const Members& cluster) {
    std::map<std::string, Members> by_node;
    for (const size_t i : cluster) {
      if (!taken_[i]) by_node[At(i).node].push_back(i);
    }
    for (auto& [node, members] : by_node) {
      if (members.size() < 2) continue;
      std::set<std::string> devices;
      for (const size_t i : members) devices.insert(At(i).device);
      SeriesGroup group;
      const bool device = devices.size() == 1 && !devices.begin()->empty();
      group.scope = device ? SeriesGroup::kDevice : SeriesGroup::kNode;
      group.text = device ? absl::StrCat(members.size(), " series of device ", *devices.begin(), " on ", node)
                          : absl::StrCat(members.size(), " series of node ", node);
      group.text += " changed at once";
      for (const size_t i : members) group.p_value = std::min(group.p_value, At(i).p_value);
      group.p_value = std::min(1.0, group.p_value * static_cast<double>(members.size()));
      Emit(std::move(group), std::move(members));
    }
  }

  const FleetShiftInput& input_;
  const FleetShiftOptions options_;
  const int64_t now_;
  std::vector<bool> taken_;
  std::vector<SeriesGroup> groups_;
};

}  // namespace

std::vector<SeriesGroup> JoinChanges(const FleetShiftInput& input, int64_t now_unix_ns,
                                     const FleetShiftOptions& options) {
  return Joiner(input, now_unix_ns, options).Run();
}

}  // namespace fleetmark::collector
