// The nodes family: what is known of each node, and what is derived from its runs and findings.
//
// Thread-safety: reading from any thread; Put as part of the one writer's write set.
#ifndef FLEETMARK_COLLECTOR_STORE_NODES_H_
#define FLEETMARK_COLLECTOR_STORE_NODES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/store_types.h"
#include "collector/store/values.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

// As it was put; nothing for an unknown node.
absl::StatusOr<std::optional<v1::Node>> FindNode(const Database& db, const std::string& name);

void PutNode(const v1::Node& node, bool is_new, WriteSet* writes, Counters* counters);

// Also with last_run_unix_ns and open_findings.
absl::StatusOr<v1::Node> ReadNode(const Database& db, const std::string& name);
absl::StatusOr<std::vector<v1::Node>> ListNodes(const Database& db, const Page& page,
                                                std::string* next_token);

// Tells whether a series matches a selector. It reads the nodes once if the selector asks for their labels.
class SeriesMatcher {
 public:
  static absl::StatusOr<SeriesMatcher> Make(const Database& db, const v1::Selector& selector);
  bool Matches(const v1::SeriesKey& key) const;

 private:
  explicit SeriesMatcher(const v1::Selector& selector) : selector_(selector) {}

  v1::Selector selector_;
  std::set<std::string, std::less<>> nodes_;  // those with the node labels
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_NODES_H_
