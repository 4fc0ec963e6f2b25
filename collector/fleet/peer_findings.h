// From levels of series to findings about nodes, devices and racks that perform worse than their peers, and
// about classes that hold two sorts of node (peers.h).
//
// What a change already explains is no news: a series with an open change is compared at its level before it.
// What one node, device or rack shows in several measurements is one finding; so are nodes that one fact
// separates from the rest of their class.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_PEER_FINDINGS_H_
#define FLEETMARK_COLLECTOR_FLEET_PEER_FINDINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "collector/fleet/fleet_snapshot.h"
#include "collector/fleet/group_findings.h"

namespace fleetmark::collector {

inline constexpr size_t kLevelSamples = 15;
inline constexpr size_t kMinLevelSamples = 3;

// The newest values of a series, ascending in time.
struct RecentValues {
  const SeriesOfFleet* series = nullptr;
  std::vector<double> values;  // at least kMinLevelSamples
  int64_t first_unix_ns = 0;   // of the series
};

// One measurement inside one class.
struct PeerGroup {
  const Measurement* measurement = nullptr;
  std::string node_class;
  std::vector<RecentValues> series;
};

class PeerFindings {
 public:
  // `open`: all open findings. `level`: of the budget, for one comparison. `fleet` must outlive it.
  PeerFindings(const FleetSnapshot& fleet, absl::Span<const v1::Finding> open, double level);

  void Judge(const PeerGroup& group);
  // The findings that were opened, changed or closed, once all groups are judged.
  std::vector<v1::Finding> Finish(int64_t now_unix_ns);

 private:
  struct Suspect {  // a device, node or rack with what it shows in each measurement
    v1::FindingMember worst;
    std::vector<v1::FindingMember> members;
    double p_value = 1;
    double score = 0;
    size_t peers = 0;
    size_t measurements = 0;
    int64_t since_unix_ns = 0;
    std::string node_class;
    std::string scope;  // "node n7"
    bool rack = false;
  };
  struct Explained {  // what all open changes of a series make of its level
    double ratio = 1;
    double difference = 0;
  };
  struct ClassNodes {                        // who was compared at all
    std::map<std::string, bool> suspect_of;  // by node
  };

  void AddOutlier(const PeerGroup& group, const std::vector<double>& levels, bool logarithmic, double sign,
                  const struct PeerOutlier& outlier);
  void AddSplit(const PeerGroup& group, bool logarithmic, double sign, const struct ClassSplit& split);
  std::vector<GroupDraft> SuspectDrafts();
  void JoinExplained(std::vector<GroupDraft>& drafts);
  GroupDraft ToDraft(const Suspect& suspect) const;

  const FleetSnapshot& fleet_;
  const double level_;
  std::vector<v1::Finding> open_peers_;
  std::vector<v1::Finding> open_splits_;
  std::map<std::string, bool> known_;        // member keys of open peer findings
  std::map<uint64_t, Explained> explained_;  // by series
  std::map<std::string, Suspect> suspects_;  // by scope
  std::map<std::string, ClassNodes> classes_;
  std::vector<GroupDraft> splits_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_PEER_FINDINGS_H_
