#include "collector/alert/inhibition.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/alert/alert_cause.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kOnsetWindowNs = int64_t{48} * 3600 * 1'000'000'000;

int64_t OnsetOf(const v1::Finding& finding) {
  return finding.onset_latest_unix_ns() != 0 ? finding.onset_latest_unix_ns() : finding.found_unix_ns();
}

bool IsAgentGone(const v1::Alert& alert, const v1::Finding& finding) {
  return alert.class_() == v1::ALERT_CLASS_SILENT && finding.series().benchmark().empty();
}

}  // namespace

void Inhibition::AddSource(const AlertView& view) {
  Source source;
  source.alert = view.alert;
  for (const v1::Finding* finding : view.findings) {
    source.finding_ids.insert(finding->finding_id());
    source.nodes.merge(NodesOf(*finding));
    source.benchmarks.merge(BenchmarksOf(*finding));
    const int64_t onset = OnsetOf(*finding);
    source.onset_unix_ns = source.onset_unix_ns == 0 ? onset : std::min(source.onset_unix_ns, onset);
    if (finding->member_count() > static_cast<uint32_t>(finding->members_size()) &&
        finding->explanations_size() > 0) {
      source.explained_by.emplace_back(finding->explanations(0).attribute(),
                                       finding->explanations(0).value());
    }
  }
  if (IsAgentGone(*view.alert, *view.findings.front())) {
    source.kind = Source::kGone;
  } else if (view.alert->class_() == v1::ALERT_CLASS_FAILING) {
    source.kind = Source::kFailing;
  } else if (view.alert->class_() == v1::ALERT_CLASS_SHIFT ||
             (view.alert->class_() == v1::ALERT_CLASS_SLOW && source.nodes.size() > 1)) {
    source.kind = Source::kShared;
  } else {
    return;
  }
  sources_.push_back(std::move(source));
}

bool Inhibition::HasNode(const Source& source, const std::string& node) {
  if (source.nodes.contains(node)) return true;
  if (source.explained_by.empty()) return false;
  auto it = attributes_.find(node);
  if (it == attributes_.end()) it = attributes_.emplace(node, attributes_of_(node)).first;
  return std::any_of(source.explained_by.begin(), source.explained_by.end(), [&](const auto& explained) {
    const auto attribute = it->second.find(explained.first);
    return attribute != it->second.end() && attribute->second == explained.second;
  });
}

bool Inhibition::TellsOfFinding(const Source& source, const v1::Alert& alert, const v1::Finding& finding) {
  if (!finding.group_id().empty() && source.finding_ids.contains(finding.group_id())) return true;
  const std::set<std::string> nodes = NodesOf(finding);
  const bool all_nodes =
      !nodes.empty() &&
      std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) { return HasNode(source, node); });
  if (!all_nodes) return false;
  const std::set<std::string> benchmarks = BenchmarksOf(finding);
  const bool all_benchmarks =
      std::includes(source.benchmarks.begin(), source.benchmarks.end(), benchmarks.begin(), benchmarks.end());
  switch (source.kind) {
    case Source::kGone:
      return !IsAgentGone(alert, finding);
    case Source::kFailing:
      return alert.class_() == v1::ALERT_CLASS_SILENT && !benchmarks.empty() && all_benchmarks;
    case Source::kShared:
      return alert.class_() == v1::ALERT_CLASS_SLOW && nodes.size() == 1 && all_benchmarks &&
             std::abs(OnsetOf(finding) - source.onset_unix_ns) <= kOnsetWindowNs;
  }
  return false;
}

bool Inhibition::TellsOf(const Source& source, const AlertView& view) {
  if (source.alert->alert_id() == view.alert->alert_id()) return false;
  return std::all_of(view.findings.begin(), view.findings.end(), [&](const v1::Finding* finding) {
    return TellsOfFinding(source, *view.alert, *finding);
  });
}

std::vector<v1::AlertMute> Inhibition::MutesOf(const AlertView& view) {
  std::vector<v1::AlertMute> mutes;
  if (view.findings.empty()) return mutes;
  for (const Source& source : sources_) {
    if (!TellsOf(source, view)) continue;
    v1::AlertMute& mute = mutes.emplace_back();
    mute.set_kind(v1::AlertMute::KIND_INHIBITED);
    mute.set_by(source.alert->alert_id());
    mute.set_text(absl::StrCat("told by the alert about ", source.alert->subject()));
  }
  return mutes;
}

}  // namespace fleetmark::collector
