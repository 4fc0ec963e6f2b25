// Findings as detection makes them, for tests of alerts.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_ALERT_ALERT_FINDING_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_ALERT_ALERT_FINDING_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "common/base/ulid.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

inline constexpr int64_t kOnsetNs = 1'789'999'000'000'000'000;

// A node's series became slower by 12 %, and the budget lets it be told.
inline v1::Finding SlowFinding(const std::string& node, const std::string& benchmark = "stream") {
  v1::Finding finding;
  finding.set_finding_id(UlidFromSeed(absl::FromUnixNanos(kOnsetNs), absl::StrCat(node, "/", benchmark)));
  finding.mutable_series()->set_node(node);
  finding.mutable_series()->set_benchmark(benchmark);
  finding.mutable_series()->set_metric("triad");
  finding.mutable_series()->set_unit("GB/s");
  finding.set_kind(v1::Finding::KIND_CHANGE);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.set_found_unix_ns(kOnsetNs + 60'000'000'000);
  finding.set_onset_earliest_unix_ns(kOnsetNs);
  finding.set_onset_latest_unix_ns(kOnsetNs + 60'000'000'000);
  finding.set_before(200);
  finding.set_after(176);
  finding.set_change(-0.12);
  finding.set_change_low(-0.13);
  finding.set_change_high(-0.11);
  finding.set_confidence(0.99999);
  finding.set_detector("change");
  finding.set_explanation("12 % lower than before");
  finding.mutable_budget()->set_within(true);
  return finding;
}

inline v1::Finding PendingFinding(const std::string& node) {
  v1::Finding finding = SlowFinding(node);
  finding.mutable_budget()->set_within(false);
  finding.mutable_confirmation()->set_state(v1::Confirmation::STATE_PENDING);
  return finding;
}

inline void AddMembers(const std::vector<std::string>& nodes, const std::string& benchmark,
                       v1::Finding* finding) {
  for (const std::string& node : nodes) {
    v1::FindingMember& member = *finding->add_members();
    member.set_node(node);
    member.set_benchmark(benchmark);
  }
  finding->set_member_count(static_cast<uint32_t>(nodes.size()));
}

// Nodes with one driver became slower together.
inline v1::Finding DriverFinding(const std::vector<std::string>& nodes,
                                 const std::string& benchmark = "stream") {
  v1::Finding finding = SlowFinding("", benchmark);
  finding.set_finding_id(UlidFromSeed(absl::FromUnixNanos(kOnsetNs), "driver"));
  finding.mutable_series()->set_node("");
  finding.set_kind(v1::Finding::KIND_FLEET);
  finding.set_detector("fleet.changes");
  finding.set_scope("gpu.driver 570.124");
  AddMembers(nodes, benchmark, &finding);
  v1::Explanation& why = *finding.add_explanations();
  why.set_attribute("gpu.driver");
  why.set_value("570.124");
  why.set_units("node");
  why.set_changed_with(static_cast<uint32_t>(nodes.size()));
  why.set_total_with(static_cast<uint32_t>(nodes.size()));
  why.set_total_without(180);
  return finding;
}

// Agents are gone, or (with a benchmark) its results are missing.
inline v1::Finding SilentFinding(const std::vector<std::string>& nodes, const std::string& scope,
                                 const std::string& benchmark = "") {
  v1::Finding finding;
  finding.set_finding_id(
      UlidFromSeed(absl::FromUnixNanos(kOnsetNs), absl::StrCat("silent/", scope, benchmark)));
  finding.set_kind(v1::Finding::KIND_SILENCE);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.set_found_unix_ns(kOnsetNs);
  finding.set_onset_latest_unix_ns(kOnsetNs);
  finding.set_detector("fleet.silence");
  finding.set_scope(scope);
  finding.set_explanation("the agent is gone");
  finding.mutable_series()->set_benchmark(benchmark);
  if (nodes.size() == 1) finding.mutable_series()->set_node(nodes[0]);
  AddMembers(nodes, benchmark, &finding);
  finding.mutable_budget()->set_within(true);
  return finding;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_ALERT_ALERT_FINDING_H_
