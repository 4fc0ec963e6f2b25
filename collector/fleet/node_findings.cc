#include "collector/fleet/node_findings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr double kMaxP = 0.01;
constexpr const char* kSlower = "run_time";  // the metric of members that take longer
constexpr const char* kBad = "bad_runs";

std::vector<v1::Finding> OpenOf(absl::Span<const v1::Finding> open, std::string_view detector) {
  std::vector<v1::Finding> out;
  for (const v1::Finding& finding : open) {
    if (finding.detector() == detector) out.push_back(finding);
  }
  return out;
}

// What separates `affected` from the other nodes of `among`; adds it to the finding and its text.
void AddExplanations(const std::set<std::string>& affected, const std::set<std::string>& among,
                     const FleetSnapshot& fleet, v1::Finding* finding) {
  if (affected.size() < 2) return;
  std::vector<ExplainedUnit> units;
  for (const std::string& node : among) {
    const auto it = fleet.explaining().find(node);
    if (it != fleet.explaining().end())
      units.push_back({&it->second.attributes, affected.contains(node), nullptr});
  }
  for (v1::Explanation& explanation : Explain(units, "node", kMaxP, 5)) {
    if (finding->explanations_size() == 0) {
      finding->set_explanation(absl::StrCat(finding->explanation(), "; ", ExplanationText(explanation)));
    }
    *finding->add_explanations() = std::move(explanation);
  }
}

std::set<std::string> AllNodes(const FleetSnapshot& fleet) {
  std::set<std::string> nodes;
  for (const auto& [name, node] : fleet.nodes()) nodes.insert(name);
  return nodes;
}

std::set<std::string> NodesWith(const std::string& benchmark, const FleetSnapshot& fleet) {
  std::set<std::string> nodes;
  for (const auto& [name, node] : fleet.nodes()) {
    for (const v1::Benchmark& planned : node.node.benchmarks()) {
      if (planned.name() == benchmark && planned.enabled()) nodes.insert(name);
    }
  }
  return nodes;
}

std::string ScopeOf(const std::set<std::string>& nodes, const v1::Finding& finding) {
  if (nodes.size() == 1) return absl::StrCat("node ", *nodes.begin());
  if (finding.explanations_size() > 0) {
    return absl::StrCat(finding.explanations(0).attribute(), " ", finding.explanations(0).value());
  }
  return absl::StrCat(nodes.size(), " nodes");
}

GroupDraft SilenceDraft(absl::Span<const Silent> silent, const std::vector<size_t>& members,
                        const FleetSnapshot& fleet) {
  GroupDraft draft;
  v1::Finding& finding = draft.finding;
  finding.set_kind(v1::Finding::KIND_SILENCE);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  finding.set_confidence(1);
  finding.mutable_budget()->set_within(true);
  const Silent& first = silent[members[0]];
  const bool gone = first.benchmark.empty();
  std::set<std::string> nodes;
  for (const size_t i : members) {
    nodes.insert(silent[i].node);
    v1::FindingMember member;
    member.set_node(silent[i].node);
    member.set_benchmark(silent[i].benchmark);
    draft.members.push_back(std::move(member));
  }
  finding.set_onset_earliest_unix_ns(absl::ToUnixNanos(first.since));
  finding.set_onset_latest_unix_ns(absl::ToUnixNanos(first.since));
  finding.mutable_series()->set_benchmark(first.benchmark);
  if (nodes.size() == 1) {
    finding.mutable_series()->set_node(first.node);
    finding.set_explanation(first.text);
  } else {
    finding.set_explanation(
        gone ? absl::StrCat("the agents of ", nodes.size(), " nodes went at the same time")
             : absl::StrCat(first.benchmark, " has no results from ", nodes.size(), " nodes"));
  }
  AddExplanations(nodes, gone ? AllNodes(fleet) : NodesWith(first.benchmark, fleet), fleet, &finding);
  finding.set_scope(ScopeOf(nodes, finding));
  return draft;
}

GroupDraft FailureDraft(absl::Span<const Failing> failing, const std::vector<size_t>& members,
                        const FleetSnapshot& fleet) {
  GroupDraft draft;
  v1::Finding& finding = draft.finding;
  finding.set_kind(v1::Finding::KIND_FAILURE);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  size_t clearest = members[0];
  std::set<std::string> nodes, benchmarks;
  for (const size_t i : members) {
    const Failing& one = failing[i];
    if (one.verdict.p_value < failing[clearest].verdict.p_value) clearest = i;
    nodes.insert(one.node);
    benchmarks.insert(one.benchmark);
    v1::FindingMember member;
    member.set_node(one.node);
    member.set_benchmark(one.benchmark);
    member.set_metric(one.verdict.failing ? kBad : kSlower);
    member.set_unit(one.verdict.failing ? "" : "s");
    member.set_before(one.verdict.before);
    member.set_after(one.verdict.after);
    member.set_change(one.verdict.failing || one.verdict.before == 0
                          ? one.verdict.after - one.verdict.before
                          : one.verdict.after / one.verdict.before - 1);
    draft.members.push_back(std::move(member));
    if (finding.onset_latest_unix_ns() == 0 || one.verdict.onset_unix_ns < finding.onset_latest_unix_ns()) {
      finding.set_onset_latest_unix_ns(one.verdict.onset_unix_ns);
    }
  }
  const FailureVerdict& verdict = failing[clearest].verdict;
  const v1::FindingMember& shown = draft.members[static_cast<size_t>(
      std::find(members.begin(), members.end(), clearest) - members.begin())];
  finding.set_before(verdict.before);
  finding.set_after(verdict.after);
  finding.set_change(shown.change());
  finding.set_change_low(shown.change());
  finding.set_change_high(shown.change());
  finding.set_p_value(verdict.p_value);
  finding.set_confidence(1 - verdict.p_value);
  finding.set_samples_before(static_cast<uint32_t>(verdict.runs_before));
  finding.set_samples_after(static_cast<uint32_t>(verdict.runs_after));
  finding.mutable_budget()->set_within(true);
  finding.mutable_budget()->set_level(verdict.never_worked ? 0 : failing[clearest].level);
  if (benchmarks.size() == 1) finding.mutable_series()->set_benchmark(*benchmarks.begin());
  finding.mutable_series()->set_metric(shown.metric());
  finding.mutable_series()->set_unit(shown.unit());
  if (nodes.size() == 1) finding.mutable_series()->set_node(*nodes.begin());
  std::string text = absl::StrCat(failing[clearest].benchmark, ": ", verdict.text);
  if (nodes.size() > 1) {
    text = absl::StrCat(*benchmarks.begin(), verdict.failing ? " fails on " : " takes longer on ",
                        nodes.size(), " nodes; on ", failing[clearest].node, " ", verdict.text);
  } else if (benchmarks.size() > 1) {
    text = absl::StrCat(benchmarks.size(), " benchmarks; ", text);
  }
  finding.set_explanation(text);
  if (nodes.size() > 1) AddExplanations(nodes, NodesWith(*benchmarks.begin(), fleet), fleet, &finding);
  finding.set_scope(ScopeOf(nodes, finding));
  return draft;
}

}  // namespace

std::vector<v1::Finding> SilenceFindings(absl::Span<const Silent> silent, const FleetSnapshot& fleet,
                                         absl::Span<const v1::Finding> open, int64_t now_unix_ns) {
  std::vector<GroupDraft> drafts;
  for (const std::vector<size_t>& members : JoinSilences(silent)) {
    drafts.push_back(SilenceDraft(silent, members, fleet));
  }
  return Reconcile(kSilenceDetector, drafts, OpenOf(open, kSilenceDetector), {}, now_unix_ns, "heard again")
      .changed;
}

std::vector<v1::Finding> FailureFindings(absl::Span<const Failing> failing, const FleetSnapshot& fleet,
                                         absl::Span<const v1::Finding> open, int64_t now_unix_ns) {
  // A benchmark that fails on several nodes is one finding; what is left is one for each node.
  std::map<std::pair<bool, std::string>, std::vector<size_t>> by_benchmark, by_node;
  for (size_t i = 0; i < failing.size(); ++i) {
    by_benchmark[{failing[i].verdict.failing, failing[i].benchmark}].push_back(i);
  }
  std::vector<GroupDraft> drafts;
  for (const auto& [key, members] : by_benchmark) {
    if (members.size() > 1) {
      drafts.push_back(FailureDraft(failing, members, fleet));
    } else {
      by_node[{key.first, failing[members[0]].node}].push_back(members[0]);
    }
  }
  for (const auto& [key, members] : by_node) drafts.push_back(FailureDraft(failing, members, fleet));
  return Reconcile(kFailureDetector, drafts, OpenOf(open, kFailureDetector), {}, now_unix_ns, "works again")
      .changed;
}

}  // namespace fleetmark::collector
