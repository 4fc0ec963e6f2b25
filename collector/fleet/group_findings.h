// The life of findings about several series or nodes. Each pass finds out anew what belongs together and
// drafts a finding for it; a draft that shares members with an open finding of its detector is that finding.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_FLEET_GROUP_FINDINGS_H_
#define FLEETMARK_COLLECTOR_FLEET_GROUP_FINDINGS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

inline constexpr int kMaxMembers = 200;  // that are listed in a finding; member_count counts all

// Detectors of the fleet, as findings name them.
inline constexpr std::string_view kJoinDetector = "fleet.changes";
inline constexpr std::string_view kPeerDetector = "fleet.peers";
inline constexpr std::string_view kSplitDetector = "fleet.classes";
inline constexpr std::string_view kSilenceDetector = "fleet.silence";
inline constexpr std::string_view kFailureDetector = "fleet.failures";

// Was it made by the detection of the fleet?
bool IsFleetFinding(const v1::Finding& finding);

// What a member is known by: its finding, or what was measured where.
std::string MemberKey(const v1::FindingMember& member);

// A finding without id, state and times; all of its members are in `members`.
struct GroupDraft {
  v1::Finding finding;
  std::vector<v1::FindingMember> members;
};

struct ReconcileResult {
  std::vector<v1::Finding> changed;    // opened, changed or closed
  std::vector<std::string> draft_ids;  // the finding that each draft is
};

// `open`: the open findings of `detector`. One without a draft is closed with `closing`, unless its id is in
// `keep`. An id follows from detector, onset and the first member.
ReconcileResult Reconcile(std::string_view detector, absl::Span<const GroupDraft> drafts,
                          absl::Span<const v1::Finding> open, const std::set<std::string>& keep,
                          int64_t now_unix_ns, std::string_view closing);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_FLEET_GROUP_FINDINGS_H_
