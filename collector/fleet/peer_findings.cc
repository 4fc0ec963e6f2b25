#include "collector/fleet/peer_findings.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "collector/detect/robust_statistics.h"
#include "collector/fleet/change_groups.h"
#include "collector/fleet/peers.h"

namespace fleetmark::collector {
namespace {

constexpr double kLoose = 0.01;          // a finding stays open as long as its members are beyond this
constexpr double kJoinCandidate = 1e-3;  // nodes that a common fact may join
constexpr double kJoinP = 1e-3;  // of the explanation that joins them; alerts need the level of the budget
constexpr double kRootHalfPi = 1.2533141373155001;

std::string MeasureText(const v1::SeriesKey& key) { return absl::StrCat(key.benchmark(), " ", key.metric()); }

v1::FindingMember ToMember(const v1::SeriesKey& key, const SeriesOfFleet& series, double peers, double own) {
  v1::FindingMember member;
  member.set_series_id(series.series_id);
  member.set_node(series.node);
  member.set_device(series.device);
  member.set_benchmark(key.benchmark());
  member.set_metric(key.metric());
  member.set_unit(key.unit());
  member.set_before(peers);
  member.set_after(own);
  member.set_change(peers == 0 ? own : own / peers - 1);
  return member;
}

}  // namespace

PeerFindings::PeerFindings(const FleetSnapshot& fleet, absl::Span<const v1::Finding> open, double level)
    : fleet_(fleet), level_(level) {
  for (const v1::Finding& finding : open) {
    if (finding.detector() == kPeerDetector) {
      open_peers_.push_back(finding);
      for (const v1::FindingMember& member : finding.members()) known_[MemberKey(member)] = true;
    } else if (finding.detector() == kSplitDetector) {
      open_splits_.push_back(finding);
    } else if (IsChange(finding) && finding.kind() != v1::Finding::KIND_SPREAD) {
      Explained& explained = explained_[finding.series_id()];
      explained.difference += finding.after() - finding.before();
      const bool has_ratio = finding.before() != 0 && finding.after() / finding.before() > 0;
      if (has_ratio) explained.ratio *= finding.after() / finding.before();
    }
  }
}

void PeerFindings::Judge(const PeerGroup& group) {
  if (group.measurement->better == v1::BETTER_NONE || group.series.size() < 2) return;
  const double sign = group.measurement->better == v1::BETTER_HIGHER ? -1 : 1;
  bool logarithmic = true;
  for (const RecentValues& recent : group.series) {
    for (const double value : recent.values) logarithmic = logarithmic && value > 0;
  }
  std::vector<PeerUnit> units;
  std::vector<double> levels;
  for (const RecentValues& recent : group.series) {
    std::vector<double> values = recent.values;
    if (logarithmic) {
      for (double& value : values) value = std::log(value);
    }
    double level = Median(values);
    if (const auto it = explained_.find(recent.series->series_id); it != explained_.end()) {
      level -= logarithmic ? std::log(it->second.ratio) : it->second.difference;
    }
    const auto node = fleet_.nodes().find(recent.series->node);
    PeerUnit unit;
    unit.rack = node == fleet_.nodes().end() ? "" : node->second.rack;
    unit.node = recent.series->node;
    unit.device = recent.series->device;
    unit.level = sign * level;
    unit.error = kRootHalfPi * RobustSpread(values) / std::sqrt(static_cast<double>(values.size()));
    units.push_back(std::move(unit));
    levels.push_back(level);
    classes_[group.node_class].suspect_of.emplace(recent.series->node, false);
  }
  PeerOptions options;
  if (!logarithmic) {  // differences of values are judged in units of what is usual
    double size = 0;
    for (const double level : levels) size = std::max(size, std::fabs(level));
    options.min_difference *= size;
    options.min_scale *= size;
  }
  const PeerComparison comparison = ComparePeers(units, kLoose, options);
  for (const PeerOutlier& outlier : comparison.outliers)
    AddOutlier(group, levels, logarithmic, sign, outlier);
  if (comparison.split.has_value()) AddSplit(group, logarithmic, sign, *comparison.split);
}

void PeerFindings::AddOutlier(const PeerGroup& group, const std::vector<double>& levels, bool logarithmic,
                              double sign, const PeerOutlier& outlier) {
  const auto value = [&](double level) { return logarithmic ? std::exp(sign * level) : sign * level; };
  const RecentValues& first = group.series[outlier.units[0]];
  const auto node = fleet_.nodes().find(first.series->node);
  // All that one node shows is one suspect; its devices are told apart in the end.
  const bool rack = outlier.scope == PeerScope::kRack && node != fleet_.nodes().end();
  const std::string scope =
      rack ? absl::StrCat("rack ", node->second.rack) : absl::StrCat("node ", first.series->node);
  Suspect& suspect = suspects_[absl::StrCat(group.node_class, "\n", scope)];
  suspect.scope = scope;
  suspect.rack = rack;
  suspect.node_class = group.node_class;
  ++suspect.measurements;
  for (const size_t unit : outlier.units) {
    const RecentValues& recent = group.series[unit];
    const double own = logarithmic ? std::exp(levels[unit]) : levels[unit];
    suspect.members.push_back(ToMember(group.measurement->key, *recent.series, value(outlier.peers), own));
    if (suspect.since_unix_ns == 0 || recent.first_unix_ns < suspect.since_unix_ns) {
      suspect.since_unix_ns = recent.first_unix_ns;
    }
  }
  if (outlier.p_value >= suspect.p_value && suspect.peers > 0) return;
  suspect.p_value = outlier.p_value;
  suspect.score = outlier.score;
  suspect.peers = outlier.peer_count;
  suspect.worst = ToMember(group.measurement->key, *first.series, value(outlier.peers), value(outlier.level));
}

void PeerFindings::AddSplit(const PeerGroup& group, bool logarithmic, double sign, const ClassSplit& split) {
  const auto value = [&](double level) { return logarithmic ? std::exp(sign * level) : sign * level; };
  GroupDraft draft;
  v1::Finding& finding = draft.finding;
  *finding.mutable_series() = group.measurement->key;
  finding.set_kind(v1::Finding::KIND_PEER);
  finding.set_direction(v1::Finding::DIRECTION_NEUTRAL);
  finding.set_scope(absl::StrCat("class ", group.node_class));
  finding.set_before(value(split.low));
  finding.set_after(value(split.high));
  finding.set_change(finding.after() / finding.before() - 1);
  finding.set_change_low(finding.change());
  finding.set_change_high(finding.change());
  finding.set_confidence(1);
  std::map<std::string, bool> slower;  // by node
  for (const size_t unit : split.low_units) slower.emplace(group.series[unit].series->node, false);
  for (const size_t unit : split.high_units) {
    const RecentValues& recent = group.series[unit];
    slower[recent.series->node] = true;
    draft.members.push_back(
        ToMember(group.measurement->key, *recent.series, finding.before(), finding.after()));
  }
  std::vector<ExplainedUnit> units;
  for (const auto& [node, is_slower] : slower) {
    const auto it = fleet_.explaining().find(node);
    if (it != fleet_.explaining().end()) units.push_back({&it->second.attributes, is_slower, nullptr});
  }
  std::string text =
      absl::StrFormat("the class holds two sorts of node: %d with %.4g and %d with %.4g %s", split.low_nodes,
                      finding.before(), split.high_nodes, finding.after(), finding.series().unit());
  for (v1::Explanation& explanation : Explain(units, "node", kLoose, 5)) {
    if (finding.explanations_size() == 0) absl::StrAppend(&text, "; ", ExplanationText(explanation));
    *finding.add_explanations() = std::move(explanation);
  }
  finding.set_explanation(text);
  splits_.push_back(std::move(draft));
}

GroupDraft PeerFindings::ToDraft(const Suspect& suspect) const {
  GroupDraft draft;
  draft.members = suspect.members;
  v1::Finding& finding = draft.finding;
  finding.set_kind(v1::Finding::KIND_PEER);
  finding.set_direction(v1::Finding::DIRECTION_WORSE);
  std::set<std::string> devices, measures;
  for (const v1::FindingMember& member : suspect.members) {
    devices.insert(member.device());
    measures.insert(absl::StrCat(member.benchmark(), " ", member.metric()));
  }
  const bool device = !suspect.rack && devices.size() == 1 && !devices.begin()->empty();
  finding.set_scope(device ? absl::StrCat("device ", *devices.begin(), " of ", suspect.worst.node())
                           : suspect.scope);
  if (!suspect.rack) finding.mutable_series()->set_node(suspect.worst.node());
  if (device) (*finding.mutable_series()->mutable_labels())["device"] = *devices.begin();
  finding.mutable_series()->set_benchmark(suspect.worst.benchmark());
  finding.mutable_series()->set_metric(suspect.worst.metric());
  finding.mutable_series()->set_unit(suspect.worst.unit());
  finding.set_before(suspect.worst.before());
  finding.set_after(suspect.worst.after());
  finding.set_change(suspect.worst.change());
  finding.set_change_low(suspect.worst.change());
  finding.set_change_high(suspect.worst.change());
  finding.set_onset_latest_unix_ns(suspect.since_unix_ns);
  const double p = std::min(1.0, suspect.p_value * static_cast<double>(suspect.measurements));
  finding.set_p_value(p);
  finding.set_confidence(1 - p);
  finding.set_score(suspect.score);
  finding.mutable_budget()->set_level(level_);
  finding.mutable_budget()->set_within(p <= level_);
  std::string text =
      absl::StrFormat("%s: %.4g %s, its %d %s have %.4g (%+.1f %%)", MeasureText(finding.series()),
                      finding.after(), finding.series().unit(), suspect.peers,
                      device ? "sibling devices" : "peers", finding.before(), 100 * finding.change());
  if (measures.size() > 1) absl::StrAppend(&text, "; in ", measures.size(), " measurements");
  finding.set_explanation(text);
  return draft;
}

std::vector<GroupDraft> PeerFindings::SuspectDrafts() {
  std::vector<GroupDraft> drafts;
  for (const auto& [key, suspect] : suspects_) {
    GroupDraft draft = ToDraft(suspect);
    const bool known =
        std::any_of(draft.members.begin(), draft.members.end(),
                    [this](const v1::FindingMember& m) { return known_.contains(MemberKey(m)); });
    if (known || draft.finding.p_value() <= kJoinCandidate) drafts.push_back(std::move(draft));
  }
  JoinExplained(drafts);
  std::erase_if(drafts, [this](const GroupDraft& draft) {
    return !draft.finding.budget().within() &&
           std::none_of(draft.members.begin(), draft.members.end(),
                        [this](const v1::FindingMember& m) { return known_.contains(MemberKey(m)); });
  });
  return drafts;
}

// Joins nodes that one fact separates from the other nodes that were compared.
void PeerFindings::JoinExplained(std::vector<GroupDraft>& drafts) {
  std::map<std::string, std::vector<size_t>> by_class;
  for (size_t d = 0; d < drafts.size(); ++d) {
    const std::string& node = drafts[d].finding.series().node();
    const auto it = fleet_.nodes().find(node);
    if (!node.empty() && it != fleet_.nodes().end()) by_class[it->second.node_class].push_back(d);
  }
  std::set<size_t> joined;
  std::vector<GroupDraft> groups;
  for (const auto& [node_class, members] : by_class) {
    if (members.size() < 2) continue;
    std::map<std::string, bool> nodes = classes_[node_class].suspect_of;
    for (const size_t d : members) nodes[drafts[d].finding.series().node()] = true;
    std::vector<ExplainedUnit> units;
    for (const auto& [node, suspect] : nodes) {
      const auto it = fleet_.explaining().find(node);
      if (it != fleet_.explaining().end()) units.push_back({&it->second.attributes, suspect, nullptr});
    }
    const std::vector<v1::Explanation> found = Explain(units, "node", kJoinP, 5);
    if (found.empty()) continue;
    GroupDraft group;
    std::set<std::string> names;
    for (const size_t d : members) {
      const Attributes& attributes = fleet_.explaining().at(drafts[d].finding.series().node()).attributes;
      const auto it = attributes.find(found[0].attribute());
      if (it == attributes.end() || it->second != found[0].value()) continue;
      if (group.members.empty() || drafts[d].finding.p_value() < group.finding.p_value()) {
        group.finding = drafts[d].finding;
      }
      group.members.insert(group.members.end(), drafts[d].members.begin(), drafts[d].members.end());
      names.insert(drafts[d].finding.series().node());
      joined.insert(d);
    }
    group.finding.mutable_series()->clear_node();
    group.finding.mutable_series()->clear_labels();
    group.finding.set_scope(absl::StrCat(found[0].attribute(), " ", found[0].value()));
    group.finding.set_explanation(
        absl::StrCat(names.size(), " nodes are slower than their peers: ", ExplanationText(found[0]),
                     "; the clearest: ", group.finding.explanation()));
    group.finding.set_p_value(std::min(group.finding.p_value(), found[0].p_value()));
    group.finding.mutable_budget()->set_within(group.finding.p_value() <= level_);
    for (const v1::Explanation& explanation : found) *group.finding.add_explanations() = explanation;
    groups.push_back(std::move(group));
  }
  std::vector<GroupDraft> rest;
  for (size_t d = 0; d < drafts.size(); ++d) {
    if (!joined.contains(d)) rest.push_back(std::move(drafts[d]));
  }
  rest.insert(rest.end(), std::make_move_iterator(groups.begin()), std::make_move_iterator(groups.end()));
  drafts = std::move(rest);
}

std::vector<v1::Finding> PeerFindings::Finish(int64_t now_unix_ns) {
  std::vector<v1::Finding> changed =
      Reconcile(kPeerDetector, SuspectDrafts(), open_peers_, {}, now_unix_ns, "as its peers again").changed;
  for (v1::Finding& finding :
       Reconcile(kSplitDetector, splits_, open_splits_, {}, now_unix_ns, "one sort of node again").changed) {
    changed.push_back(std::move(finding));
  }
  return changed;
}

}  // namespace fleetmark::collector
