#include "collector/store/findings.h"

#include <optional>
#include <string_view>

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/nodes.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

bool IsOpen(const v1::Finding& finding) { return finding.state() == v1::Finding::STATE_OPEN; }
bool IsWorse(const v1::Finding& finding) { return finding.direction() == v1::Finding::DIRECTION_WORSE; }

bool InRange(const v1::TimeRange& range, int64_t time) {
  return (range.from_unix_ns() == 0 || time >= range.from_unix_ns()) &&
         (range.to_unix_ns() == 0 || time < range.to_unix_ns());
}

bool Matches(const v1::ListFindingsRequest& filter, const v1::Finding& finding) {
  return (filter.state() == v1::Finding::STATE_UNSPECIFIED || filter.state() == finding.state()) &&
         (filter.direction() == v1::Finding::DIRECTION_UNSPECIFIED ||
          filter.direction() == finding.direction()) &&
         InRange(filter.range(), finding.found_unix_ns());
}

}  // namespace

absl::Status PutFinding(const Database& db, const v1::Finding& finding, WriteSet* writes,
                        Counters* counters) {
  const std::optional<UlidBytes> id = UlidFromText(finding.finding_id());
  if (!id.has_value()) return absl::InvalidArgumentError("finding_id must be a ULID of 26 characters");
  const std::string key = UlidKey(*id);
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> old_value, db.Get(Family::kFindings, key));
  if (old_value.has_value()) {
    v1::Finding old;
    FM_RETURN_IF_ERROR(DecodeMessage(*old_value, &old));
    if (IsOpen(old)) {
      --counters->open_findings;
      if (IsWorse(old)) --counters->open_findings_worse;
      writes->Delete(Family::kOpenFindings, EncodeNodeUlidKey(old.series().node(), *id));
    }
  }
  writes->Put(Family::kFindings, key, EncodeMessage(finding));
  if (IsOpen(finding)) {
    ++counters->open_findings;
    if (IsWorse(finding)) ++counters->open_findings_worse;
    writes->Put(Family::kOpenFindings, EncodeNodeUlidKey(finding.series().node(), *id), EncodeBytes(""));
  }
  return absl::OkStatus();
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
