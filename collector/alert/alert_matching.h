// Which alert each open finding belongs to: the one that has it already; else the one of the same cause that
// is not resolved, or may be opened again; else a new one. A finding that is a member of another begins none,
// for the other one tells of it.
//
// Thread-safety: none; made anew for each look.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_MATCHING_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_MATCHING_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

using FindingsByAlert = std::map<std::string, std::vector<const v1::Finding*>>;

class AlertMatching {
 public:
  // `may_grow`: it takes findings of its cause that it does not have yet.
  void Know(const v1::Alert& alert, bool may_grow);

  // `new_id` names a new alert. The findings must stay.
  FindingsByAlert Match(absl::Span<const v1::Finding> open, const std::function<std::string()>& new_id);

 private:
  std::map<std::string, std::string> by_finding_;
  std::map<std::string, std::string> by_cause_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_MATCHING_H_
