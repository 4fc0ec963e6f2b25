// One look at the open findings: which alert each belongs to, what mutes it and who is to be told, and the
// step that each alert makes by that. Decides by pure functions (alert_matching.h, inhibition.h,
// alert_routes.h, alert_life.h) and writes through the book.
//
// Memory: the open findings. Thread-safety: none; the engine's turn. Ownership: store and book must outlive
// it. Errors: those of the store; what was written until then stays, and the next pass goes on.
#ifndef FLEETMARK_COLLECTOR_ALERT_ALERT_PASS_H_
#define FLEETMARK_COLLECTOR_ALERT_ALERT_PASS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "collector/alert/alert_book.h"
#include "collector/alert/alert_content.h"
#include "collector/alert/alert_life.h"
#include "collector/alert/alert_matching.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/inhibition.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

class Store;

class AlertPass {
 public:
  struct Options {
    const Store* store = nullptr;
    AlertBook* book = nullptr;
    AlertPolicy policy;
    absl::Duration repeat_silent;  // of alerts about silence, instead of the policy's
    AlertLinks links;
    size_t max_open_findings = 0;
  };

  explicit AlertPass(Options options) : options_(std::move(options)), book_(*options_.book) {}

  absl::Status Run(const std::vector<AlertRoute>& routes, absl::Time now);

 private:
  using AlertPtr = AlertBook::AlertPtr;

  absl::Status Refresh(absl::Time now);
  Inhibition MakeInhibition(const std::map<std::string, AlertPtr>& known) const;
  absl::Status StepOne(const std::string& id, const AlertPtr& known, absl::Time now, Inhibition* inhibition,
                       AlertBook::Batch* batch);
  void Fill(const AlertView& view, v1::Alert* alert) const;
  AlertCondition FullCondition(const v1::Alert& alert, const AlertView& view, absl::Time now,
                               Inhibition* inhibition) const;
  void AddSilences(const std::map<std::string, std::string>& labels, absl::Time now,
                   AlertCondition* condition) const;
  std::map<std::string, std::string> NodeLabels(const std::set<std::string>& nodes) const;
  void FillRecent(v1::Alert* alert) const;
  AlertPolicy PolicyOf(const v1::Alert& alert) const;

  const Options options_;
  AlertBook& book_;
  const std::vector<AlertRoute>* routes_ = nullptr;  // of the pass at hand
  std::vector<v1::Silence> silences_;                // as of the pass at hand
  std::vector<v1::Finding> findings_;                // open
  FindingsByAlert views_;                            // point into findings_
  uint64_t seen_version_ = 0;
  bool refill_ = false;  // the findings are news to the alerts
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_ALERT_PASS_H_
