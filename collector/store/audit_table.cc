#include "collector/store/audit_table.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/values.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

bool Matches(const v1::ListAuditRequest& filter, const v1::AuditEntry& entry) {
  return (filter.person().empty() || filter.person() == entry.person()) &&
         (!filter.refused() || entry.refused());
}

}  // namespace

absl::Status AuditTable::Append(absl::Span<const v1::AuditEntry> entries) {
  WriteSet set = db_.NewWriteSet();
  for (const v1::AuditEntry& entry : entries) {
    const std::optional<UlidBytes> id = UlidFromText(entry.audit_id());
    if (!id.has_value()) return absl::InvalidArgumentError("audit_id must be a ULID of 26 characters");
    const std::string key = EncodeTimeKey({entry.time_unix_ns(), *id});
    FM_ASSIGN_OR_RETURN(const std::optional<std::string> there, db_.Get(Family::kAudit, key));
    if (there.has_value()) return absl::AlreadyExistsError(absl::StrCat("audit entry ", entry.audit_id()));
    set.Put(Family::kAudit, key, EncodeMessage(entry));
  }
  return db_.Write(std::move(set));
}

absl::StatusOr<std::vector<v1::AuditEntry>> AuditTable::List(const v1::ListAuditRequest& filter,
                                                             const Page& page,
                                                             std::string* next_token) const {
  return ListPage<v1::AuditEntry>(
      db_, Family::kAudit, NewestFirst("", filter.range()), page, next_token,
      [&](std::string_view, std::string_view value) -> absl::StatusOr<std::optional<v1::AuditEntry>> {
        v1::AuditEntry entry;
        FM_RETURN_IF_ERROR(DecodeMessage(value, &entry));
        if (!Matches(filter, entry)) return std::nullopt;
        return entry;
      });
}

absl::StatusOr<size_t> AuditTable::Drop(int64_t before_unix_ns, uint64_t max_entries, size_t limit) {
  uint64_t entries = 0;
  Cursor count = db_.NewCursor(Family::kAudit);
  for (count.Seek({}); count.Valid(); count.Next()) ++entries;
  FM_RETURN_IF_ERROR(count.status());
  WriteSet set = db_.NewWriteSet();
  const std::string end = EncodeTimeKey({before_unix_ns, {}});
  size_t dropped = 0;
  Cursor cursor = db_.NewCursor(Family::kAudit);
  for (cursor.Seek({}); cursor.Valid() && dropped < limit; cursor.Next()) {
    if (cursor.key() >= end && entries - dropped <= max_entries) break;
    set.Delete(Family::kAudit, cursor.key());
    ++dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  if (dropped > 0) FM_RETURN_IF_ERROR(db_.Write(std::move(set)));
  return dropped;
}

}  // namespace fleetmark::collector
