// Who performs worse than those that ought to perform alike: compares the levels of one measurement inside
// one class of nodes, hierarchically.
//
//   device  with the other devices of its node, where that has three or more: what all devices of the node
//           share cancels. Its noise is that of such differences on all other nodes.
//   rack    its nodes' levels with all other nodes' by ranks (Mann and Whitney, 1947) or by the medians'
//           difference; beyond that it must be four spreads of the other racks' medians away.
//   node    with the class's other nodes; inside a rack that stands out, with that rack's other nodes.
//
// Each is compared with the others only, never with itself ("leave one out"). Location is the median, scale
// the larger of two robust ones; a node's distance is judged by Student's t with 0.37 (n - 1) degrees of
// freedom, as the median absolute deviation has 37 % of the efficiency of the standard deviation
// (Rousseeuw and Croux, 1993). What the whole class shares cancels.
//
// A class that really holds two sorts of node is told as such (SplitClass), and each sort is judged by
// itself.
//
// Thread-safety: functions without state. Levels are finite.
#ifndef FLEETMARK_COLLECTOR_FLEET_PEERS_H_
#define FLEETMARK_COLLECTOR_FLEET_PEERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace fleetmark::collector {

// One series at its recent level.
struct PeerUnit {
  std::string rack;  // empty: not known
  std::string node;
  std::string device;  // empty: the measurement is of the whole node
  double level = 0;    // a logarithm, or the value where not all are positive; higher is worse
  double error = 0;    // standard error of `level`
};

enum class PeerScope { kDevice, kNode, kRack };

struct PeerOutlier {
  PeerScope scope = PeerScope::kNode;
  std::vector<size_t> units;  // ascending
  double level = 0;
  double peers = 0;  // the level of those that it was compared with
  size_t peer_count = 0;
  double score = 0;    // (level - peers) / scale
  double p_value = 1;  // one-sided, of this one comparison
};

// Two sorts of node in one class.
struct ClassSplit {
  double low = 0;  // median level of each sort
  double high = 0;
  std::vector<size_t> low_units;  // ascending
  std::vector<size_t> high_units;
  size_t low_nodes = 0;
  size_t high_nodes = 0;
};

struct PeerOptions {
  double min_difference = 0.01;  // smaller ones do not matter, whatever their significance
  double min_scale = 0.002;      // spread that is always allowed for
  size_t min_peers = 4;
};

struct PeerComparison {
  std::vector<PeerOutlier> outliers;  // racks, then nodes, then devices; p_value at most `max_p`
  std::optional<ClassSplit> split;
};

PeerComparison ComparePeers(absl::Span<const PeerUnit> units, double max_p, const PeerOptions& options = {});

// The best split of ascending `levels` in two, as the size of the lower part; 0 when they are one sort.
// Two sorts: at least 8 levels, each sort three of them and a tenth, the sorts' medians farther apart than
// six times the spread inside the sorts (twelve for eight levels), and no levels in the middle third between
// the sorts.
size_t SplitInTwo(absl::Span<const double> levels, const PeerOptions& options = {});

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_PEERS_H_
