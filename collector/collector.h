// The collector: builds its parts and joins them. The order in which Start builds them reads as the
// architecture.
//
// Thread-safety: called from main alone. Ownership: owns everything that runs in the collector.
#ifndef FLEETMARK_COLLECTOR_COLLECTOR_H_
#define FLEETMARK_COLLECTOR_COLLECTOR_H_

#include <memory>

#include "absl/status/status.h"

#include "collector/config.h"
#include "collector/join/authority_folder.h"

namespace fleetmark::collector {

// Of the configuration's section `authority`.
AuthorityFolder::Options ToAuthorityOptions(const CollectorConfig& config);

class Collector {
 public:
  explicit Collector(CollectorConfig config);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // The two steps of a start, apart because they fail for different reasons: the data folder, then the
  // addresses. After an error only the destructor may follow.
  absl::Status OpenStore();
  absl::Status Serve();

  // What a changed configuration may change while running: the suites.
  void Reload(const CollectorConfig& config);

  // Refuses new work, commits what it has, and ends every thread. Bounded: about ten seconds at worst.
  void Stop();

  // While false the process should be restarted.
  bool Healthy() const;

 private:
  struct Parts;
  const CollectorConfig config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_COLLECTOR_H_
