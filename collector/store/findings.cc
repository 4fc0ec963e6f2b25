#include "collector/store/findings.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/nodes.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

bool IsOpen(const v1::Finding& finding) { return finding.state() == v1::Finding::STATE_OPEN; }
// Members of a group are told by their group.
bool Counts(const v1::Finding& finding) { return IsOpen(finding) && finding.group_id().empty(); }
bool IsWorse(const v1::Finding& finding) { return finding.direction() == v1::Finding::DIRECTION_WORSE; }

bool InRange(const v1::TimeRange& range, int64_t time) {
  return (range.from_unix_ns() == 0 || time >= range.from_unix_ns()) &&
         (range.to_unix_ns() == 0 || time < range.to_unix_ns());
}

bool Matches(const v1::ListFindingsRequest& filter, const v1::Finding& finding) {
  return (filter.state() == v1::Finding::STATE_UNSPECIFIED || filter.state() == finding.state()) &&
         (filter.direction() == v1::Finding::DIRECTION_UNSPECIFIED ||
          filter.direction() == finding.direction()) &&
         InRange(filter.range(), finding.found_unix_ns()) &&
         (!filter.top_level() || finding.group_id().empty());
}

void Count(const v1::Finding& finding, uint64_t by, Counters* counters) {
  if (!Counts(finding)) return;
  counters->open_findings += by;
  if (IsWorse(finding)) counters->open_findings_worse += by;
}

bool HasFleetNotes(const v1::Finding& finding) {
  return !finding.group_id().empty() || finding.members_size() > 0 || finding.explanations_size() > 0 ||
         finding.has_confirmation() || finding.has_budget();
}

void CopyFleetNotes(const v1::Finding& from, v1::Finding* to) {
  to->set_group_id(from.group_id());
  *to->mutable_members() = from.members();
  to->set_member_count(from.member_count());
  *to->mutable_explanations() = from.explanations();
  to->set_scope(from.scope());
  to->clear_confirmation();
  if (from.has_confirmation()) *to->mutable_confirmation() = from.confirmation();
  to->clear_budget();
  if (from.has_budget()) *to->mutable_budget() = from.budget();
}

// `old`: what is stored; nothing for a new finding.
absl::Status Replace(const std::optional<v1::Finding>& old, const v1::Finding& finding, const UlidBytes& id,
                     WriteSet* writes, Counters* counters) {
  if (old.has_value()) {
    Count(*old, static_cast<uint64_t>(-1), counters);
    if (IsOpen(*old)) writes->Delete(Family::kOpenFindings, EncodeNodeUlidKey(old->series().node(), id));
  }
  writes->Put(Family::kFindings, UlidKey(id), EncodeMessage(finding));
  Count(finding, 1, counters);
  if (IsOpen(finding)) {
    writes->Put(Family::kOpenFindings, EncodeNodeUlidKey(finding.series().node(), id), EncodeBytes(""));
  }
  return absl::OkStatus();
}

absl::StatusOr<UlidBytes> IdOf(const v1::Finding& finding) {
  const std::optional<UlidBytes> id = UlidFromText(finding.finding_id());
  if (!id.has_value()) return absl::InvalidArgumentError("finding_id must be a ULID of 26 characters");
  return *id;
}

absl::StatusOr<std::optional<v1::Finding>> Find(const Database& db, std::string_view key) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db.Get(Family::kFindings, key));
  if (!value.has_value()) return std::nullopt;
  v1::Finding finding;
  FM_RETURN_IF_ERROR(DecodeMessage(*value, &finding));
  return finding;
}

}  // namespace

absl::Status PutFinding(const Database& db, v1::Finding finding, WriteSet* writes, Counters* counters) {
  FM_ASSIGN_OR_RETURN(const UlidBytes id, IdOf(finding));
  FM_ASSIGN_OR_RETURN(const std::optional<v1::Finding> old, Find(db, UlidKey(id)));
  if (old.has_value() && !HasFleetNotes(finding)) CopyFleetNotes(*old, &finding);
  return Replace(old, finding, id, writes, counters);
}

absl::Status PutFleetNotes(const Database& db, const v1::Finding& notes, WriteSet* writes,
                           Counters* counters) {
  FM_ASSIGN_OR_RETURN(const UlidBytes id, IdOf(notes));
  FM_ASSIGN_OR_RETURN(const std::optional<v1::Finding> old, Find(db, UlidKey(id)));
  if (!old.has_value()) return absl::OkStatus();
  v1::Finding finding = *old;
  CopyFleetNotes(notes, &finding);
  return Replace(old, finding, id, writes, counters);
}

absl::StatusOr<std::vector<v1::Finding>> OpenFindings(const Database& db, size_t limit) {
  std::vector<v1::Finding> findings;
  Cursor cursor = db.NewCursor(Family::kOpenFindings);
  for (cursor.Seek({}); cursor.Valid() && findings.size() < limit; cursor.Next()) {
    UlidBytes id;
    if (cursor.key().size() < id.size()) return absl::DataLossError("a key of open_findings is malformed");
    std::copy(cursor.key().end() - static_cast<ptrdiff_t>(id.size()), cursor.key().end(), id.begin());
    FM_ASSIGN_OR_RETURN(std::optional<v1::Finding> finding, Find(db, UlidKey(id)));
    if (finding.has_value()) findings.push_back(*std::move(finding));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return findings;
}

absl::StatusOr<std::vector<v1::Finding>> ListFindings(const Database& db,
                                                      const v1::ListFindingsRequest& filter, const Page& page,
                                                      std::string* next_token) {
  FM_ASSIGN_OR_RETURN(const SeriesMatcher matcher, SeriesMatcher::Make(db, filter.selector()));
  return ListPage<v1::Finding>(
      db, Family::kFindings, KeyRange{"", "", KeyRange::kDescending}, page, next_token,
      [&](std::string_view, std::string_view value) -> absl::StatusOr<std::optional<v1::Finding>> {
        v1::Finding finding;
        FM_RETURN_IF_ERROR(DecodeMessage(value, &finding));
        if (!Matches(filter, finding) || !matcher.Matches(finding.series())) return std::nullopt;
        return finding;
      });
}

}  // namespace fleetmark::collector
