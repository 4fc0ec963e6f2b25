// Changes that belong together: joins findings of single series into groups, each of which becomes one
// finding.
//
// In this order, each series in one group at most, changes of one direction only:
//   1. a fact that took its value on the nodes shortly before their series changed, whenever that was on
//      each node (a roll-out over days), and that separates changed from unchanged nodes;
//   2. changes close in time: among them the fact or label that separates best, again and again until none
//      does; then a benchmark or plugin version that separates; then, without an explanation, as many nodes
//      at once as the rate of changes in the rest of the time does not explain;
//   3. changes close in time on one node, or on one device of it.
// "Separates": Fisher's exact test over nodes, corrected (explanation.h), is at most `max_p`.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_FLEET_SHIFT_H_
#define FLEETMARK_COLLECTOR_FLEET_FLEET_SHIFT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "collector/fleet/explanation.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// A series that left its own past.
struct ChangedSeries {
  std::string finding_id;
  uint64_t series_id = 0;
  std::string node;
  std::string device;  // empty: the whole node's
  std::string benchmark;
  std::string metric;
  Attributes measurement;  // benchmark, plugin version, …: what can explain a change on all nodes
  int direction = 0;       // v1::Finding::Direction
  int64_t onset_earliest_unix_ns = 0;  // 0: not known
  int64_t onset_latest_unix_ns = 0;
  double p_value = 1;
};

struct FleetNode {
  Attributes attributes;
  // Attributes that took their value at these times.
  std::vector<std::pair<std::string, int64_t>> changed_at;
};

// How many series and nodes could have changed.
struct MeasuredOn {
  Attributes measurement;
  std::vector<std::string> nodes;  // each once
};

struct FleetShiftInput {
  absl::Span<const ChangedSeries> changed;
  const std::map<std::string, FleetNode>* nodes = nullptr;
  // By benchmark and metric, joined by a newline.
  const std::map<std::string, MeasuredOn>* measurements = nullptr;
};

struct FleetShiftOptions {
  int64_t slack_ns = int64_t{2} * 3600 * 1'000'000'000;         // changes this close in time are joined
  int64_t longest_ns = int64_t{48} * 3600 * 1'000'000'000;      // a group in time spans no more
  int64_t fact_window_ns = int64_t{26} * 3600 * 1'000'000'000;  // from a fact's change to the series'
  int64_t horizon_ns = int64_t{30} * 86'400 * 1'000'000'000;    // what the rate of changes is taken over
  double max_p = 0.01;
  double max_coincidence_p = 1e-6;
};

struct SeriesGroup {
  enum Scope { kFleet, kNode, kDevice } scope = kFleet;
  std::vector<size_t> members;                // indices into `changed`, ascending
  size_t nodes = 0;                           // different ones
  std::vector<v1::Explanation> explanations;  // best first
  std::string text;                           // one line for people
  double p_value = 1;                         // of the coincidence: of the explanation, or of so many at once
};

// `now` bounds the horizon.
std::vector<SeriesGroup> JoinChanges(const FleetShiftInput& input, int64_t now_unix_ns,
                                     const FleetShiftOptions& options = {});

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_FLEET_SHIFT_H_
