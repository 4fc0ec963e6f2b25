#include "collector/fleet/change_groups.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/detect/robust_statistics.h"

namespace fleetmark::collector {
namespace {

constexpr int kMaxEvents = 10;

ChangedSeries ToChanged(const v1::Finding& finding) {
  ChangedSeries series;
  series.finding_id = finding.finding_id();
  series.series_id = finding.series_id();
  series.node = finding.series().node();
  series.device = DeviceOf(finding.series());
  series.benchmark = finding.series().benchmark();
  series.metric = finding.series().metric();
  series.measurement = {
      {"benchmark", series.benchmark},
      {"plugin", absl::StrCat(finding.series().plugin(), finding.series().plugin_version().empty() ? "" : " ",
                              finding.series().plugin_version())},
      {"metric", series.metric}};
  series.direction = finding.direction();
  series.onset_earliest_unix_ns = finding.onset_earliest_unix_ns();
  series.onset_latest_unix_ns = finding.onset_latest_unix_ns();
  series.p_value = finding.p_value();
  return series;
}

v1::FindingMember ToMember(const v1::Finding& finding) {
  v1::FindingMember member;
  member.set_finding_id(finding.finding_id());
  member.set_series_id(finding.series_id());
  member.set_node(finding.series().node());
  member.set_device(DeviceOf(finding.series()));
  member.set_benchmark(finding.series().benchmark());
  member.set_metric(finding.series().metric());
  member.set_unit(finding.series().unit());
  member.set_before(finding.before());
  member.set_after(finding.after());
  member.set_change(finding.change());
  return member;
}

std::string ScopeText(const SeriesGroup& group, const v1::Finding& first) {
  switch (group.scope) {
    case SeriesGroup::kNode:
      return absl::StrCat("node ", first.series().node());
    case SeriesGroup::kDevice:
      return absl::StrCat("device ", DeviceOf(first.series()), " of ", first.series().node());
    case SeriesGroup::kFleet:
      break;
  }
  if (group.explanations.empty()) return absl::StrCat(group.nodes, " nodes");
  return absl::StrCat(group.explanations[0].attribute(), " ", group.explanations[0].value());
}

// Sizes of the members' changes: the median, and the range of the middle nine tenths.
void SetSizes(const std::vector<const v1::Finding*>& members, v1::Finding* finding) {
  std::vector<double> changes, before, after;
  for (const v1::Finding* member : members) {
    changes.push_back(member->change());
    before.push_back(member->before());
    after.push_back(member->after());
  }
  finding->set_change(Median(changes));
  finding->set_change_low(Quantile(changes, 0.05));
  finding->set_change_high(Quantile(changes, 0.95));
  const auto same = [&](const v1::Finding* m) {
    return m->series().benchmark() == members[0]->series().benchmark() &&
           m->series().metric() == members[0]->series().metric();
  };
  finding->set_before(1);  // of different measurements only the ratio is comparable
  finding->set_after(1 + finding->change());
  if (!std::all_of(members.begin(), members.end(), same)) return;
  finding->set_before(Median(before));
  finding->set_after(Median(after));
  finding->mutable_series()->set_benchmark(members[0]->series().benchmark());
  finding->mutable_series()->set_metric(members[0]->series().metric());
  finding->mutable_series()->set_unit(members[0]->series().unit());
}

// The events that members came with: those that concern no single node, and the same on several nodes once.
void AddEvents(const v1::Finding& member, std::set<std::string>& known, v1::Finding* finding) {
  for (const v1::Event& event : member.events()) {
    if (finding->events_size() == kMaxEvents) return;
    const std::string what = absl::StrCat(event.kind(), "\n", event.subject(), "\n", event.new_value(), "\n",
                                          event.node().empty() ? event.event_id() : "");
    if (known.insert(what).second) *finding->add_events() = event;
  }
}

GroupDraft MakeDraft(const SeriesGroup& group, const std::vector<const v1::Finding*>& members, double level) {
  GroupDraft draft;
  v1::Finding& finding = draft.finding;
  SetSizes(members, &finding);
  const bool fleet = group.scope == SeriesGroup::kFleet;
  finding.set_kind(fleet ? v1::Finding::KIND_FLEET : members[0]->kind());
  if (!fleet) finding.mutable_series()->set_node(members[0]->series().node());
  finding.set_direction(members[0]->direction());
  finding.set_scope(ScopeText(group, *members[0]));
  finding.set_explanation(group.text);
  finding.set_p_value(group.p_value);
  finding.set_confidence(1 - group.p_value);
  double score = 0;
  std::set<std::string> events;
  for (const v1::Finding* member : members) {
    draft.members.push_back(ToMember(*member));
    AddEvents(*member, events, &finding);
    score = std::max(score, std::abs(member->score()));
    const int64_t earliest = member->onset_earliest_unix_ns(), latest = member->onset_latest_unix_ns();
    if (finding.onset_earliest_unix_ns() == 0 || earliest < finding.onset_earliest_unix_ns()) {
      finding.set_onset_earliest_unix_ns(earliest);
    }
    if (finding.onset_latest_unix_ns() == 0 || latest < finding.onset_latest_unix_ns()) {
      finding.set_onset_latest_unix_ns(latest);
    }
    if (member->budget().within() && !finding.budget().within()) *finding.mutable_budget() = member->budget();
  }
  finding.set_score(score);
  for (const v1::Explanation& explanation : group.explanations) *finding.add_explanations() = explanation;
  if (fleet && !finding.budget().within()) {
    finding.mutable_budget()->set_level(level);
    finding.mutable_budget()->set_within(group.p_value <= level);
  }
  return draft;
}

// What belongs together now: changes of level with such, of spread with such, drifts with drifts.
std::vector<GroupDraft> DraftGroups(const std::vector<const v1::Finding*>& findings,
                                    const FleetSnapshot& fleet, int64_t now_unix_ns, double level) {
  std::vector<GroupDraft> drafts;
  for (const auto kind : {v1::Finding::KIND_CHANGE, v1::Finding::KIND_SPREAD, v1::Finding::KIND_DRIFT}) {
    std::vector<ChangedSeries> changed;
    std::vector<const v1::Finding*> of_kind;
    for (const v1::Finding* finding : findings) {
      if (finding->kind() != kind) continue;
      changed.push_back(ToChanged(*finding));
      of_kind.push_back(finding);
    }
    const std::vector<SeriesGroup> joined =
        JoinChanges({changed, &fleet.explaining(), &fleet.measured_on()}, now_unix_ns);
    for (const SeriesGroup& group : joined) {
      std::vector<const v1::Finding*> members;
      for (const size_t i : group.members) members.push_back(of_kind[i]);
      // Each kind, and each group of it, has its part of the level.
      drafts.push_back(MakeDraft(group, members, level / 3 / static_cast<double>(joined.size())));
    }
  }
  return drafts;
}

}  // namespace

bool IsChange(const v1::Finding& finding) {
  return finding.state() == v1::Finding::STATE_OPEN && !IsFleetFinding(finding) && finding.series_id() != 0 &&
         (finding.kind() == v1::Finding::KIND_CHANGE || finding.kind() == v1::Finding::KIND_SPREAD ||
          finding.kind() == v1::Finding::KIND_DRIFT);
}

ChangeGroups JoinOpenChanges(absl::Span<const v1::Finding> open, const FleetSnapshot& fleet,
                             int64_t now_unix_ns, double level) {
  std::vector<const v1::Finding*> findings;
  std::vector<v1::Finding> groups;
  std::set<std::string> open_groups, keep;
  for (const v1::Finding& finding : open) {
    if (IsChange(finding)) findings.push_back(&finding);
    if (finding.detector() != kJoinDetector) continue;
    groups.push_back(finding);
    open_groups.insert(finding.finding_id());
  }
  std::map<std::string, size_t> draft_of;  // by member
  const std::vector<GroupDraft> drafts = DraftGroups(findings, fleet, now_unix_ns, level);
  for (size_t d = 0; d < drafts.size(); ++d) {
    for (const v1::FindingMember& member : drafts[d].members) draft_of[member.finding_id()] = d;
  }
  // Members that are in no draft stay with their group.
  for (const v1::Finding* finding : findings) {
    if (!finding->group_id().empty() && !draft_of.contains(finding->finding_id())) {
      keep.insert(finding->group_id());
    }
  }
  ReconcileResult result = Reconcile(kJoinDetector, drafts, groups, keep, now_unix_ns,
                                     "its members returned, or belong to another finding now");
  ChangeGroups out;
  out.changed = std::move(result.changed);
  for (const v1::Finding* finding : findings) {
    const auto it = draft_of.find(finding->finding_id());
    std::string group = open_groups.contains(finding->group_id()) ? finding->group_id() : "";
    if (it != draft_of.end()) group = result.draft_ids[it->second];
    if (group != finding->group_id()) out.group_of[finding->finding_id()] = group;
  }
  return out;
}

}  // namespace fleetmark::collector
