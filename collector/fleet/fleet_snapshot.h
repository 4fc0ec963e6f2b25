// What the store holds, as the detection of the fleet sees it in one pass: nodes with what can explain a
// finding, measurements with the nodes that have them, levels of series.
//
// Thread-safety: none; belongs to the detection's thread. Ownership: the store must outlive it. Errors: the
// store's.
#ifndef FLEETMARK_COLLECTOR_FLEET_FLEET_SNAPSHOT_H_
#define FLEETMARK_COLLECTOR_FLEET_FLEET_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "collector/fleet/fleet_shift.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class Store;

struct NodeOfFleet {
  v1::Node node;
  std::string rack;
  std::string node_class;
};

// A series that is alive, as far as peers need it.
struct SeriesOfFleet {
  uint64_t series_id = 0;
  std::string node;
  std::string device;
};

// Series that ought to be alike where nodes are: one metric of one benchmark with one plugin version,
// parameters and labels (but the device's), over all nodes.
struct Measurement {
  v1::SeriesKey key;  // without node and device
  v1::Better better = v1::BETTER_UNSPECIFIED;
  std::vector<SeriesOfFleet> series;
};

// The label that tells which device of the node a series is about.
std::string DeviceOf(const v1::SeriesKey& key);

class FleetSnapshot {
 public:
  // `fill_live` sets what is known of a node while it is connected (Sessions::FillLive); may be empty.
  FleetSnapshot(const Store& store, std::function<void(v1::Node*)> fill_live)
      : store_(store), fill_live_(std::move(fill_live)) {}

  absl::Status ReadNodes();
  // The series with samples in the two weeks before `now`. Reads every series: to be called seldom.
  absl::Status ReadSeries(absl::Time now);
  // The newest changes of facts since `since`, at most 50,000 in the fleet.
  absl::Status ReadFactChanges(absl::Time since);

  const std::map<std::string, NodeOfFleet>& nodes() const { return nodes_; }
  const std::map<std::string, FleetNode>& explaining() const { return explaining_; }
  const std::map<std::string, Measurement>& measurements() const { return measurements_; }
  const std::map<std::string, MeasuredOn>& measured_on() const { return measured_on_; }
  size_t series() const { return series_; }

  // The measurement that a series belongs to.
  static std::string MeasurementKey(const v1::SeriesKey& key);

 private:
  const Store& store_;
  const std::function<void(v1::Node*)> fill_live_;
  std::map<std::string, NodeOfFleet> nodes_;
  std::map<std::string, FleetNode> explaining_;
  std::map<std::string, Measurement> measurements_;  // by MeasurementKey
  std::map<std::string, MeasuredOn> measured_on_;    // by benchmark and metric
  size_t series_ = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_FLEET_SNAPSHOT_H_
