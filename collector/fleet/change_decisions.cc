#include "collector/fleet/change_decisions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/fleet/confirmation.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kHistory = 60;
constexpr size_t kMaxReruns = 40;
constexpr double kLeastEvidence = 20;

}  // namespace

void ChangeDecisions::Begin(const FleetSnapshot& fleet, const FalseAlarmBudget& budget, double population,
                            absl::Time now, FleetState* state) {
  fleet_ = &fleet;
  budget_ = &budget;
  population_ = population;
  now_ = now;
  state_ = state;
  asked_.clear();
  const int64_t hour_ago = absl::ToUnixNanos(now - absl::Hours(1));
  auto& requests = *state->mutable_requests_unix_ns();
  requests.erase(std::remove_if(requests.begin(), requests.end(), [&](int64_t t) { return t < hour_ago; }),
                 requests.end());
}

absl::StatusOr<double> ChangeDecisions::LevelOf(const v1::Finding& finding) const {
  if (finding.budget().level() > 0) return finding.budget().level();  // of the look that found it
  FM_ASSIGN_OR_RETURN(const v1::Series series, options_.store->GetSeries(finding.series_id()));
  const double gap = static_cast<double>(series.last_unix_ns() - series.first_unix_ns()) /
                     std::max(1.0, static_cast<double>(series.samples()) - 1);
  return budget_->Level(LookKind::kSeries, population_, absl::Nanoseconds(gap));
}

absl::StatusOr<bool> ChangeDecisions::Decide(v1::Finding& finding) {
  const v1::Confirmation::State before = finding.confirmation().state();
  if (before == v1::Confirmation::STATE_CONFIRMED || before == v1::Confirmation::STATE_REFUTED ||
      before == v1::Confirmation::STATE_INCONCLUSIVE) {
    return false;
  }
  FM_ASSIGN_OR_RETURN(const double level, LevelOf(finding));
  v1::BudgetDecision budget;
  budget.set_level(level);
  // Two ways to be within: by the p-value itself, or with what came after it. Each has half of the level.
  const double needed = EvidenceNeeded(finding.p_value(), options_.candidate_limit, level / 2);
  budget.set_within(needed <= 1);
  v1::Confirmation confirmation = finding.confirmation();
  // The levels of a change of spread or of a drift are no hypotheses about single values: there the p-value
  // decides by itself.
  if (finding.kind() == v1::Finding::KIND_CHANGE) {
    FM_ASSIGN_OR_RETURN(const Evidence evidence, ReadEvidence(finding));
    ConfirmationInput input{evidence.history, evidence.reruns, finding.after(), evidence.peer_history,
                            evidence.peer_reruns};
    ConfirmationLimits limits;
    limits.needed_for = std::max(kLeastEvidence, needed);
    limits.max_reruns = kMaxReruns;
    const ConfirmationResult result = Confirm(input, limits);
    confirmation.set_state(result.state);
    confirmation.set_evidence_for(result.evidence_for);
    confirmation.set_evidence_against(result.evidence_against);
    confirmation.set_reruns(static_cast<uint32_t>(result.reruns));
    confirmation.set_peer_reruns(static_cast<uint32_t>(result.peer_reruns));
    if (result.state == v1::Confirmation::STATE_CONFIRMED) budget.set_within(true);
    if (result.state == v1::Confirmation::STATE_REFUTED) budget.set_within(false);
  }
  const bool news = confirmation.SerializeAsString() != finding.confirmation().SerializeAsString() ||
                    budget.SerializeAsString() != finding.budget().SerializeAsString();
  if (finding.kind() == v1::Finding::KIND_CHANGE) *finding.mutable_confirmation() = std::move(confirmation);
  *finding.mutable_budget() = std::move(budget);
  return news;
}

// The samples before the change, and those after the ones that the finding itself was made from.
absl::StatusOr<ChangeDecisions::Evidence> ChangeDecisions::ReadEvidence(const v1::Finding& finding) const {
  Evidence evidence;
  const int64_t until = finding.onset_earliest_unix_ns() != 0 ? finding.onset_earliest_unix_ns() + 1
                                                              : finding.onset_latest_unix_ns();
  FM_ASSIGN_OR_RETURN(const std::vector<v1::Sample> history,
                      options_.store->LastSamples(finding.series_id(), until, kHistory));
  for (const v1::Sample& sample : history) {
    if (std::isfinite(sample.value())) evidence.history.push_back(sample.value());
  }
  size_t skipped = 0;
  int64_t used_until = finding.onset_latest_unix_ns();
  FM_RETURN_IF_ERROR(options_.store->ScanSamples(finding.series_id(), finding.onset_latest_unix_ns(),
                                                 INT64_MAX, [&](const v1::Sample& sample) {
                                                   if (!std::isfinite(sample.value())) return true;
                                                   if (skipped < finding.samples_after()) {
                                                     ++skipped;
                                                     used_until = sample.time_unix_ns();
                                                     return true;
                                                   }
                                                   evidence.reruns.push_back(sample.value());
                                                   return evidence.reruns.size() < kMaxReruns;
                                                 }));
  if (!finding.confirmation().peer().empty())
    FM_RETURN_IF_ERROR(ReadPeer(finding, used_until + 1, &evidence));
  return evidence;
}

absl::Status ChangeDecisions::ReadPeer(const v1::Finding& finding, int64_t since_unix_ns,
                                       Evidence* evidence) const {
  const std::optional<uint64_t> series = SeriesOn(finding.confirmation().peer(), finding.series());
  if (!series.has_value()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const std::vector<v1::Sample> history,
                      options_.store->LastSamples(*series, since_unix_ns, kHistory));
  for (const v1::Sample& sample : history) {
    if (std::isfinite(sample.value())) evidence->peer_history.push_back(sample.value());
  }
  return options_.store->ScanSamples(*series, since_unix_ns, INT64_MAX, [&](const v1::Sample& sample) {
    if (std::isfinite(sample.value())) evidence->peer_reruns.push_back(sample.value());
    return evidence->peer_reruns.size() < kMaxReruns;
  });
}

std::optional<uint64_t> ChangeDecisions::SeriesOn(const std::string& node, const v1::SeriesKey& key) const {
  const auto measurement = fleet_->measurements().find(FleetSnapshot::MeasurementKey(key));
  if (measurement == fleet_->measurements().end()) return std::nullopt;
  for (const SeriesOfFleet& series : measurement->second.series) {
    if (series.node == node && series.device == DeviceOf(key)) return series.series_id;
  }
  return std::nullopt;
}

// A connected node of the same class that measures the same and has no open finding; which one is settled by
// the finding's id, so that not always the same node is asked.
std::string ChangeDecisions::ChoosePeer(const v1::Finding& finding) const {
  const auto own = fleet_->nodes().find(finding.series().node());
  const auto measurement = fleet_->measurements().find(FleetSnapshot::MeasurementKey(finding.series()));
  if (own == fleet_->nodes().end() || measurement == fleet_->measurements().end()) return "";
  std::vector<std::string> healthy;
  for (const SeriesOfFleet& series : measurement->second.series) {
    if (series.node == own->first || series.device != DeviceOf(finding.series())) continue;
    const auto node = fleet_->nodes().find(series.node);
    if (node == fleet_->nodes().end() || node->second.node_class != own->second.node_class) continue;
    if (node->second.node.state() != v1::NODE_STATE_CONNECTED || node->second.node.open_findings() > 0)
      continue;
    healthy.push_back(series.node);
  }
  if (healthy.empty()) return "";
  return healthy[std::hash<std::string>()(finding.finding_id()) % healthy.size()];
}

bool ChangeDecisions::Request(const std::string& node, const v1::Finding& finding) {
  const auto it = fleet_->nodes().find(node);
  if (it == fleet_->nodes().end() || it->second.node.state() != v1::NODE_STATE_CONNECTED) return false;
  if (asked_.contains({node, finding.series().benchmark()})) return true;
  if (state_->requests_unix_ns_size() >= options_.max_requests_an_hour) return false;
  v1::RunNowRequest request;
  request.set_node(node);
  request.set_benchmark(finding.series().benchmark());
  request.set_asked_by(absl::StrCat("collector, to confirm finding ", finding.finding_id()));
  if (!options_.run_now(request).ok()) return false;
  asked_.emplace(node, finding.series().benchmark());
  state_->add_requests_unix_ns(absl::ToUnixNanos(now_));
  return true;
}

bool ChangeDecisions::AskForRuns(v1::Finding& finding) {
  const v1::Confirmation& known = finding.confirmation();
  const absl::Time found = absl::FromUnixNanos(finding.found_unix_ns());
  const absl::Time last = absl::FromUnixNanos(known.last_request_unix_ns());
  if (!options_.run_now || known.state() != v1::Confirmation::STATE_PENDING ||
      finding.direction() != v1::Finding::DIRECTION_WORSE || known.requests() >= options_.max_requests ||
      now_ - found > options_.ask_within || now_ - last < options_.between_requests) {
    return false;
  }
  const std::string peer = known.peer().empty() ? ChoosePeer(finding) : known.peer();
  if (!Request(finding.series().node(), finding)) return false;
  if (!peer.empty()) Request(peer, finding);
  v1::Confirmation& confirmation = *finding.mutable_confirmation();
  confirmation.set_peer(peer);
  confirmation.set_requests(known.requests() + 1);
  confirmation.set_last_request_unix_ns(absl::ToUnixNanos(now_));
  return true;
}

}  // namespace fleetmark::collector
