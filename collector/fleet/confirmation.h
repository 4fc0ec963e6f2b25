// Is a change real? Evidence from runs that came after the finding: two e-values that are followed run by run
// and may be stopped at any time.
//
//   for      against "the level is as before": the product of likelihood ratios of "moved by what was found,
//   or
//            by half of it" to "as before"
//   against  against "moved by at least half": the ratio the other way round
// When nothing changed, `for` is a supermartingale that begins at 1, so the chance that it ever reaches 1/a
// is at most a (Ville, 1939); likewise `against` when the level has moved (Wald's sequential test, 1945;
// e-values: Grünwald, de Heide and Koolen, 2024; Ramdas and others, 2023). The densities are Student's t with
// 5 degrees of freedom about the level before, with the spread that the history shows and the uncertainty of
// its median; each factor is capped at 10, which keeps the property and lets no single run decide. Where the
// history is correlated, a factor is raised to the power (1 - r) / (1 + r): its expectation stays at most 1
// (Jensen), and runs that resemble one another count for less. Moves that the healthy peer's runs show at the
// same time are taken off, and its noise is added.
//
// Thread-safety: functions without state. Values are finite.
#ifndef FLEETMARK_COLLECTOR_FLEET_CONFIRMATION_H_
#define FLEETMARK_COLLECTOR_FLEET_CONFIRMATION_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

struct ConfirmationInput {
  absl::Span<const double> history;       // before the change; at least four values
  absl::Span<const double> reruns;        // after the finding, in time order
  double after = 0;                       // the level that was found
  absl::Span<const double> peer_history;  // of the healthy peer, up to the finding; empty: no peer
  absl::Span<const double> peer_reruns;   // since the finding
};

struct ConfirmationLimits {
  double needed_for = 20;      // evidence that confirms; what the budget of false alarms needs may be more
  double needed_against = 20;  // evidence that refutes
  size_t max_reruns = 40;      // then it stays open
};

struct ConfirmationResult {
  v1::Confirmation::State state = v1::Confirmation::STATE_PENDING;
  double evidence_for = 1;  // the largest so far, up to where it was decided
  double evidence_against = 1;
  size_t reruns = 0;  // that were used
  size_t peer_reruns = 0;
};

ConfirmationResult Confirm(const ConfirmationInput& input, const ConfirmationLimits& limits = {});

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_CONFIRMATION_H_
