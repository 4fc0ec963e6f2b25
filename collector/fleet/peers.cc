#include "collector/fleet/peers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "collector/detect/robust_statistics.h"
#include "collector/fleet/exact_tests.h"

namespace fleetmark::collector {
namespace {

constexpr double kHalfPi = 1.5707963267948966;
constexpr double kMadEfficiency = 0.37;
constexpr size_t kMinSiblings = 2;   // other devices of a node
constexpr size_t kMinRackNodes = 3;  // nodes of a rack that is judged as one
constexpr double kRackSpreads = 4;   // spreads of the other racks' medians that a rack must be away
constexpr size_t kMinRacksForSpread = 3;
constexpr size_t kMany = 200;

struct NodeLevel {
  std::string rack;
  std::vector<size_t> units;
  double level = 0;
  double error = 0;
  int sort = 0;  // of the two sorts, where there are two
};

// The larger of two robust standard deviations: the median absolute deviation's, and that of the deviation
// which a fifth exceeds, so that heavy shoulders count.
double ScaleOf(std::vector<double> residuals, double floor) {
  constexpr double kMad = 1.4826;
  constexpr double kEighty = 1.2816;  // 80 % of a standard normal is within
  if (residuals.empty()) return floor;
  const double median = Median(residuals);
  for (double& r : residuals) r = std::fabs(r - median);
  return std::max({floor, kMad * Median(residuals), Quantile(residuals, 0.8) / kEighty});
}

class Comparison {
 public:
  Comparison(absl::Span<const PeerUnit> units, double max_p, const PeerOptions& options)
      : units_(units), max_p_(max_p), options_(options) {
    for (size_t i = 0; i < units.size(); ++i) {
      NodeLevel& node = nodes_[units[i].node];
      node.rack = units[i].rack;
      node.units.push_back(i);
    }
    for (auto& [name, node] : nodes_) SetLevel(node);
  }

  PeerComparison Run() {
    JudgeRacks();
    Split();
    JudgeNodes();
    JudgeDevices();
    return std::move(result_);
  }

 private:
  void SetLevel(NodeLevel& node) const {
    std::vector<double> levels;
    double errors = 0;
    for (const size_t i : node.units) {
      levels.push_back(units_[i].level);
      errors += units_[i].error * units_[i].error;
    }
    node.level = Median(levels);
    node.error = std::sqrt(errors) / static_cast<double>(node.units.size());
  }

  void Add(PeerOutlier outlier) {
    if (outlier.level - outlier.peers < options_.min_difference || outlier.p_value > max_p_) return;
    std::sort(outlier.units.begin(), outlier.units.end());
    result_.outliers.push_back(std::move(outlier));
  }

  // What a level is compared with.
  struct Others {
    double center = 0;
    double scale = 0;
    size_t count = 0;
  };
  Others OthersOf(const std::vector<double>& levels) const {
    return {Median(levels), ScaleOf(levels, options_.min_scale), levels.size()};
  }

  // Judges `level` against others: its score and p-value.
  static void JudgeAgainst(const Others& others, double error, PeerOutlier& outlier) {
    outlier.peers = others.center;
    outlier.peer_count = others.count;
    const auto n = static_cast<double>(others.count);
    const double spread = std::sqrt(others.scale * others.scale * (1 + kHalfPi / n) + error * error);
    outlier.score = (outlier.level - outlier.peers) / spread;
    outlier.p_value = StudentUpperTail(outlier.score, std::max(1.0, kMadEfficiency * (n - 1)));
  }

  // Of many, one moves neither median nor scale: then all stand for the others, and only those far out are
  // judged.
  static bool IsMany(size_t count) { return count > kMany; }
  bool IsFarOut(double distance, const Others& all) const {
    return distance >= options_.min_difference && (!IsMany(all.count) || distance >= all.scale);
  }

  // --- racks --------------------------------------------------------------------------------------------

  void JudgeRacks() {
    std::map<std::string, std::vector<double>> racks;
    for (const auto& [name, node] : nodes_) {
      if (!node.rack.empty()) racks[node.rack].push_back(node.level);
    }
    if (racks.size() < 2) return;
    std::vector<double> levels, medians;
    for (const auto& [name, node] : nodes_) levels.push_back(node.level);
    for (const auto& [rack, own] : racks) medians.push_back(Median(own));
    const double center = Median(levels), spread = ScaleOf(medians, options_.min_scale);
    size_t i = 0;
    for (const auto& [rack, own] : racks) {
      const double distance = medians[i++] - center;
      if (own.size() < kMinRackNodes) continue;
      if (IsMany(racks.size()) && !IsFarOut(distance, {center, spread, racks.size()})) continue;
      JudgeRack(rack, racks);
    }
    for (const PeerOutlier& outlier : result_.outliers) odd_racks_.insert(units_[outlier.units[0]].rack);
  }

  void JudgeRack(const std::string& rack, const std::map<std::string, std::vector<double>>& racks) {
    PeerOutlier outlier;
    outlier.scope = PeerScope::kRack;
    std::vector<double> others, medians;
    for (const auto& [name, node] : nodes_) {
      if (node.rack != rack) {
        others.push_back(node.level);
      } else {
        outlier.units.insert(outlier.units.end(), node.units.begin(), node.units.end());
      }
    }
    if (others.size() < options_.min_peers) return;
    for (const auto& [other, levels] : racks) {
      if (other != rack) medians.push_back(Median(levels));
    }
    const std::vector<double>& own = racks.at(rack);
    outlier.level = Median(own);
    outlier.peers = Median(others);
    outlier.peer_count = others.size();
    // With few racks the nodes' own spread stands in for what their medians would differ by.
    const double scale = medians.size() >= kMinRacksForSpread ? ScaleOf(medians, options_.min_scale)
                                                              : ScaleOf(others, options_.min_scale);
    outlier.score = (outlier.level - outlier.peers) / scale;
    if (outlier.score < kRackSpreads) return;
    // By ranks, and by the median of so many nodes among nodes as the others are; the better one of both,
    // which counts twice.
    const auto n = static_cast<double>(own.size());
    const double error = ScaleOf(others, options_.min_scale) *
                         std::sqrt(kHalfPi / n + kHalfPi / static_cast<double>(others.size()));
    const double by_size = StudentUpperTail((outlier.level - outlier.peers) / error,
                                            kMadEfficiency * static_cast<double>(others.size() - 1));
    outlier.p_value = std::min(1.0, 2 * std::min(by_size, MannWhitneyUpperTail(others, own)));
    Add(std::move(outlier));
  }

  bool IsOddRack(const std::string& rack) const { return !rack.empty() && odd_racks_.contains(rack); }

  // --- nodes --------------------------------------------------------------------------------------------

  void Split() {
    std::vector<NodeLevel*> ordinary;
    for (auto& [name, node] : nodes_) {
      if (!IsOddRack(node.rack)) ordinary.push_back(&node);
    }
    std::stable_sort(ordinary.begin(), ordinary.end(),
                     [](const NodeLevel* a, const NodeLevel* b) { return a->level < b->level; });
    std::vector<double> levels;
    for (const NodeLevel* node : ordinary) levels.push_back(node->level);
    const size_t low = SplitInTwo(levels, options_);
    if (low == 0) return;
    ClassSplit split;
    split.low_nodes = low;
    split.high_nodes = levels.size() - low;
    split.low = Median(absl::MakeConstSpan(levels).first(low));
    split.high = Median(absl::MakeConstSpan(levels).subspan(low));
    for (size_t i = 0; i < ordinary.size(); ++i) {
      ordinary[i]->sort = i < low ? 1 : 2;
      std::vector<size_t>& units = i < low ? split.low_units : split.high_units;
      units.insert(units.end(), ordinary[i]->units.begin(), ordinary[i]->units.end());
    }
    std::sort(split.low_units.begin(), split.low_units.end());
    std::sort(split.high_units.begin(), split.high_units.end());
    result_.split = std::move(split);
  }

  void JudgeNodes() {
    // Groups inside which nodes are alike: each odd rack, each sort, or all.
    std::map<std::string, std::vector<const NodeLevel*>> groups;
    for (const auto& [name, node] : nodes_) {
      groups[IsOddRack(node.rack) ? "rack " + node.rack : std::to_string(node.sort)].push_back(&node);
    }
    for (const auto& [key, group] : groups) {
      if (group.size() < options_.min_peers + 1) continue;
      std::vector<double> levels;
      for (const NodeLevel* node : group) levels.push_back(node->level);
      const Others all = OthersOf(levels);
      for (size_t i = 0; i < group.size(); ++i) {
        if (IsMany(levels.size()) && !IsFarOut(levels[i] - all.center, all)) continue;
        JudgeNode(*group[i], levels, i, all);
      }
    }
  }

  void JudgeNode(const NodeLevel& node, const std::vector<double>& levels, size_t index, const Others& all) {
    PeerOutlier outlier;
    outlier.scope = PeerScope::kNode;
    outlier.units = node.units;
    outlier.level = node.level;
    if (IsMany(levels.size())) {
      JudgeAgainst(all, node.error, outlier);
    } else {
      std::vector<double> others = levels;
      others.erase(others.begin() + static_cast<ptrdiff_t>(index));
      JudgeAgainst(OthersOf(others), node.error, outlier);
    }
    Add(std::move(outlier));
  }

  // --- devices ------------------------------------------------------------------------------------------

  // A device's level minus the median of its siblings.
  double Residual(const NodeLevel& node, size_t unit) const {
    std::vector<double> siblings;
    for (const size_t i : node.units) {
      if (i != unit) siblings.push_back(units_[i].level);
    }
    return units_[unit].level - Median(siblings);
  }

  void JudgeDevices() {
    std::map<std::string, std::vector<double>> by_node;
    std::vector<double> all;
    for (const auto& [name, node] : nodes_) {
      if (node.units.size() < kMinSiblings + 1) continue;
      std::vector<double>& own = by_node[name];
      for (const size_t i : node.units) own.push_back(Residual(node, i));
      all.insert(all.end(), own.begin(), own.end());
    }
    if (all.empty()) return;
    const Others everyone = OthersOf(all);
    for (const auto& [name, own] : by_node) {
      for (size_t k = 0; k < own.size(); ++k) {
        if (!IsFarOut(own[k], everyone)) continue;
        Others others = everyone;
        if (!IsMany(all.size())) {
          std::vector<double> elsewhere;
          for (const auto& [other, residuals] : by_node) {
            if (other != name) elsewhere.insert(elsewhere.end(), residuals.begin(), residuals.end());
          }
          // One node by itself: its own devices tell the spread, which a single odd one hardly moves.
          if (elsewhere.size() >= options_.min_peers) others = OthersOf(elsewhere);
        }
        if (others.count >= options_.min_peers) JudgeDevice(nodes_.at(name), k, own, others);
      }
    }
  }

  void JudgeDevice(const NodeLevel& node, size_t k, const std::vector<double>& own, const Others& others) {
    PeerOutlier outlier;
    outlier.scope = PeerScope::kDevice;
    outlier.units = {node.units[k]};
    outlier.level = own[k];
    JudgeAgainst(others, units_[node.units[k]].error, outlier);
    outlier.level = units_[node.units[k]].level;
    outlier.peers = outlier.level - own[k];  // its siblings
    outlier.peer_count = own.size() - 1;
    Add(std::move(outlier));
  }

  const absl::Span<const PeerUnit> units_;
  const double max_p_;
  const PeerOptions options_;
  std::map<std::string, NodeLevel> nodes_;
  std::set<std::string> odd_racks_;
  PeerComparison result_;
};

}  // namespace

PeerComparison ComparePeers(absl::Span<const PeerUnit> units, double max_p, const PeerOptions& options) {
  return Comparison(units, max_p, options).Run();
}

size_t SplitInTwo(absl::Span<const double> levels, const PeerOptions& options) {
  constexpr size_t kMinLevels = 8;
  constexpr double kSpreadsApart = 6;  // for many levels; of few the spread is not known well
  const size_t n = levels.size();
  const size_t least = std::max<size_t>(3, (n + 9) / 10);
  if (n < kMinLevels || n < 2 * least) return 0;
  // The widest gap whose sides are both large enough.
  size_t low = least;
  for (size_t i = least; i <= n - least; ++i) {
    if (levels[i] - levels[i - 1] > levels[low] - levels[low - 1]) low = i;
  }
  const absl::Span<const double> below = levels.first(low), above = levels.subspan(low);
  const double low_median = Median(below), high_median = Median(above);
  std::vector<double> inside;
  for (const double level : below) inside.push_back(level - low_median);
  for (const double level : above) inside.push_back(level - high_median);
  const double apart = high_median - low_median;
  if (apart < options.min_difference) return 0;
  const double needed = kSpreadsApart * (1 + 8 / static_cast<double>(n));
  if (apart < needed * ScaleOf(inside, options.min_scale)) return 0;
  const double gap = levels[low] - levels[low - 1];
  return gap * 3 >= apart ? low : 0;
}

}  // namespace fleetmark::collector
