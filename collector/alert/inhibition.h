// Which alerts tell of others, so that those need not be told too:
//
//   agents that are gone        what is slow, fails, or has no results on those nodes
//   what several nodes share    what is slow on one of them, shown by the same benchmarks, begun at most 48
//                               hours from it, or a finding that is a member of it
//   a benchmark that fails      its missing results on those nodes
//
// An alert never inhibits itself, and only a firing one inhibits. A group's list of members is cut short;
// there a node counts as one of it if it has the fact or label that explains the group.
//
// Thread-safety: none; one thread's.
#ifndef FLEETMARK_COLLECTOR_ALERT_INHIBITION_H_
#define FLEETMARK_COLLECTOR_ALERT_INHIBITION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

// What is known of an alert now: its open findings.
struct AlertView {
  const v1::Alert* alert = nullptr;
  std::vector<const v1::Finding*> findings;  // open; not empty
};

class Inhibition {
 public:
  // The facts and labels of a node, by name (collector/fleet/node_class.h). Called once for a node.
  using AttributesOf = std::function<std::map<std::string, std::string>(const std::string& node)>;

  explicit Inhibition(AttributesOf attributes_of) : attributes_of_(std::move(attributes_of)) {}

  // `view` tells of others from now on, if it is of a kind that does. Its alert and findings must stay.
  void AddSource(const AlertView& view);

  // The sources that tell of `view`.
  std::vector<v1::AlertMute> MutesOf(const AlertView& view);

 private:
  struct Source {
    const v1::Alert* alert = nullptr;
    enum Kind { kGone, kShared, kFailing } kind = kGone;
    std::set<std::string> finding_ids;
    std::set<std::string> nodes;
    std::set<std::string> benchmarks;
    // Of those whose members are not all listed: attribute and value.
    std::vector<std::pair<std::string, std::string>> explained_by;
    int64_t onset_unix_ns = 0;
  };

  bool HasNode(const Source& source, const std::string& node);
  bool TellsOf(const Source& source, const AlertView& view);
  bool TellsOfFinding(const Source& source, const v1::Alert& alert, const v1::Finding& finding);

  const AttributesOf attributes_of_;
  std::vector<Source> sources_;
  std::map<std::string, std::map<std::string, std::string>> attributes_;  // by node
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_INHIBITION_H_
