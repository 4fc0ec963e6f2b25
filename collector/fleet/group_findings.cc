#include "collector/fleet/group_findings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

void SetMembers(const std::vector<v1::FindingMember>& members, v1::Finding* finding) {
  finding->mutable_series();  // every finding has one, if an empty one
  finding->clear_members();
  finding->set_member_count(static_cast<uint32_t>(members.size()));
  for (const v1::FindingMember& member : members) {
    if (finding->members_size() == kMaxMembers) break;
    *finding->add_members() = member;
  }
}

v1::Finding OpenNew(std::string_view detector, const GroupDraft& draft, int64_t now_unix_ns) {
  v1::Finding finding = draft.finding;
  SetMembers(draft.members, &finding);
  const std::string first = draft.members.empty() ? finding.scope() : MemberKey(draft.members.front());
  const int64_t onset = finding.onset_latest_unix_ns();
  finding.set_finding_id(UlidFromSeed(absl::FromUnixNanos(onset != 0 ? onset : now_unix_ns),
                                      absl::StrCat(std::string(detector), "/", onset, "/", first)));
  finding.set_detector(std::string(detector));
  finding.set_state(v1::Finding::STATE_OPEN);
  finding.set_found_unix_ns(now_unix_ns);
  return finding;
}

// The open finding as the draft has it now. Its decisions stay.
v1::Finding Updated(const v1::Finding& open, const GroupDraft& draft) {
  v1::Finding finding = draft.finding;
  SetMembers(draft.members, &finding);
  finding.set_finding_id(open.finding_id());
  finding.set_detector(open.detector());
  finding.set_state(open.state());
  finding.set_found_unix_ns(open.found_unix_ns());
  if (open.has_confirmation()) *finding.mutable_confirmation() = open.confirmation();
  if (open.budget().within()) *finding.mutable_budget() = open.budget();
  return finding;
}

// Is there news in it beyond numbers that move with every sample?
bool HasNews(const v1::Finding& before, const v1::Finding& after) {
  const auto keys = [](const v1::Finding& finding) {
    std::vector<std::string> out;
    for (const v1::FindingMember& member : finding.members()) out.push_back(MemberKey(member));
    return out;
  };
  return before.member_count() != after.member_count() || before.scope() != after.scope() ||
         before.direction() != after.direction() || before.kind() != after.kind() ||
         before.budget().within() != after.budget().within() || keys(before) != keys(after) ||
         (before.explanations_size() > 0 && after.explanations_size() > 0 &&
          before.explanations(0).attribute() != after.explanations(0).attribute());
}

}  // namespace

bool IsFleetFinding(const v1::Finding& finding) { return absl::StartsWith(finding.detector(), "fleet."); }

std::string MemberKey(const v1::FindingMember& member) {
  if (!member.finding_id().empty()) return member.finding_id();
  return absl::StrCat(member.node(), "\n", member.device(), "\n", member.benchmark(), "\n", member.metric());
}

ReconcileResult Reconcile(std::string_view detector, absl::Span<const GroupDraft> drafts,
                          absl::Span<const v1::Finding> open, const std::set<std::string>& keep,
                          int64_t now_unix_ns, std::string_view closing) {
  std::map<std::string, size_t> owner;  // of member keys
  for (size_t i = 0; i < open.size(); ++i) {
    for (const v1::FindingMember& member : open[i].members()) owner.emplace(MemberKey(member), i);
  }
  // Shared members of each pair; the pairs that share most are one first.
  std::map<std::pair<size_t, size_t>, size_t> shared;  // draft, open
  for (size_t d = 0; d < drafts.size(); ++d) {
    for (const v1::FindingMember& member : drafts[d].members) {
      if (const auto it = owner.find(MemberKey(member)); it != owner.end()) ++shared[{d, it->second}];
    }
  }
  std::vector<std::pair<size_t, std::pair<size_t, size_t>>> pairs;
  for (const auto& [pair, count] : shared) pairs.emplace_back(count, pair);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const v1::Finding*> match(drafts.size(), nullptr);
  std::vector<bool> used(open.size(), false);
  for (const auto& [count, pair] : pairs) {
    if (match[pair.first] != nullptr || used[pair.second]) continue;
    match[pair.first] = &open[pair.second];
    used[pair.second] = true;
  }
  ReconcileResult result;
  for (size_t d = 0; d < drafts.size(); ++d) {
    v1::Finding finding =
        match[d] == nullptr ? OpenNew(detector, drafts[d], now_unix_ns) : Updated(*match[d], drafts[d]);
    result.draft_ids.push_back(finding.finding_id());
    if (match[d] == nullptr || HasNews(*match[d], finding)) result.changed.push_back(std::move(finding));
  }
  for (size_t i = 0; i < open.size(); ++i) {
    if (used[i] || keep.contains(open[i].finding_id())) continue;
    v1::Finding closed = open[i];
    closed.set_state(v1::Finding::STATE_CLOSED);
    closed.set_closed_unix_ns(now_unix_ns);
    absl::StrAppend(closed.mutable_explanation(), "; ", std::string(closing));
    result.changed.push_back(std::move(closed));
  }
  return result;
}

}  // namespace fleetmark::collector
