#include "collector/store/alert_tables.h"

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

// notices, dead_notices: the receiver and NUL, the alert's ULID, the notice's number.
absl::StatusOr<std::string> EncodeNoticeKey(const NoticeKey& key) {
  FM_ASSIGN_OR_RETURN(const std::string alert, IdKey("alert_id", key.alert_id));
  std::string out = NodePrefix(key.receiver) + alert;
  AppendU64(&out, key.number);
  return out;
}

absl::StatusOr<NoticeKey> ParseNoticeKey(std::string_view bytes) {
  const size_t end = bytes.find('\0');
  if (end == std::string_view::npos || bytes.size() != end + 1 + 16 + 8) {
    return absl::DataLossError("a key of notices is malformed");
  }
  UlidBytes id;
  bytes.copy(id.data(), id.size(), end + 1);
  return NoticeKey{std::string(bytes.substr(0, end)), UlidToText(id), ReadU64(bytes.substr(end + 17))};
}

absl::StatusOr<std::vector<StoredNotice>> ReadNotices(const Database& db, Family family) {
  std::vector<StoredNotice> out;
  Cursor cursor = db.NewCursor(family);
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    StoredNotice& stored = out.emplace_back();
    FM_ASSIGN_OR_RETURN(stored.key, ParseNoticeKey(cursor.key()));
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &stored.notice));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return out;
}

absl::Status AddNotices(const AlertWrite& write, WriteSet* set) {
  for (const StoredNotice& stored : write.queued) {
    FM_ASSIGN_OR_RETURN(const std::string key, EncodeNoticeKey(stored.key));
    set->Put(Family::kNotices, key, EncodeMessage(stored.notice));
  }
  for (const NoticeKey& sent : write.sent) {
    FM_ASSIGN_OR_RETURN(const std::string key, EncodeNoticeKey(sent));
    set->Delete(Family::kNotices, key);
  }
  for (const StoredNotice& stored : write.dead) {
    FM_ASSIGN_OR_RETURN(const std::string key, EncodeNoticeKey(stored.key));
    set->Delete(Family::kNotices, key);
    set->Put(Family::kDeadNotices, key, EncodeMessage(stored.notice));
  }
  for (const NoticeKey& buried : write.buried) {
    FM_ASSIGN_OR_RETURN(const std::string key, EncodeNoticeKey(buried));
    set->Delete(Family::kDeadNotices, key);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AlertTables::Write(const AlertWrite& write) {
  WriteSet set = db_.NewWriteSet();
  for (const v1::Alert& alert : write.alerts) {
    FM_ASSIGN_OR_RETURN(const std::string key, IdKey("alert_id", alert.alert_id()));
    set.Put(Family::kAlerts, key, EncodeMessage(alert));
  }
  for (const AlertWrite::Change& entry : write.changes) {
    FM_ASSIGN_OR_RETURN(const std::string alert, IdKey("alert_id", entry.alert_id));
    const uint64_t sequence = entry.change.sequence();
    set.Put(Family::kAlertHistory, HistoryKey(alert, sequence), EncodeMessage(entry.change));
    if (sequence > kMaxHistory) set.Delete(Family::kAlertHistory, HistoryKey(alert, sequence - kMaxHistory));
  }
  FM_RETURN_IF_ERROR(AddNotices(write, &set));
  for (const v1::Silence& silence : write.silences) {
    FM_ASSIGN_OR_RETURN(const std::string key, IdKey("silence_id", silence.silence_id()));
    set.Put(Family::kSilences, key, EncodeMessage(silence));
  }
  FM_RETURN_IF_ERROR(db_.Write(std::move(set)));
  ++version_;
  return absl::OkStatus();
}

absl::StatusOr<v1::Alert> AlertTables::GetAlert(const std::string& alert_id) const {
  FM_ASSIGN_OR_RETURN(const std::string key, IdKey("alert_id", alert_id));
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db_.Get(Family::kAlerts, key));
  if (!value.has_value()) return absl::NotFoundError(absl::StrCat("alert ", alert_id));
  v1::Alert alert;
  FM_RETURN_IF_ERROR(DecodeMessage(*value, &alert));
  return alert;
}

absl::Status AlertTables::ScanAlerts(const std::string& before,
                                     absl::FunctionRef<bool(const v1::Alert&)> visit) const {
  Cursor cursor = db_.NewCursor(Family::kAlerts);
  if (before.empty()) {
    cursor.SeekToLast();
  } else {
    FM_ASSIGN_OR_RETURN(const std::string key, IdKey("page_token", before));
    cursor.SeekBefore(key);
  }
  for (; cursor.Valid(); cursor.Prev()) {
    v1::Alert alert;
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &alert));
    if (!visit(alert)) return absl::OkStatus();
  }
  return cursor.status();
}

absl::StatusOr<std::vector<v1::AlertChange>> AlertTables::History(const std::string& alert_id) const {
  FM_ASSIGN_OR_RETURN(const std::string alert, IdKey("alert_id", alert_id));
  const std::string end = PrefixEnd(alert);
  std::vector<v1::AlertChange> out;
  Cursor cursor = db_.NewCursor(Family::kAlertHistory);
  for (cursor.Seek(alert); cursor.Valid() && (end.empty() || cursor.key() < end); cursor.Next()) {
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &out.emplace_back()));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return out;
}

absl::StatusOr<std::vector<StoredNotice>> AlertTables::Queue() const {
  return ReadNotices(db_, Family::kNotices);
}

absl::StatusOr<std::vector<StoredNotice>> AlertTables::Dead() const {
  return ReadNotices(db_, Family::kDeadNotices);
}

absl::StatusOr<std::vector<v1::Silence>> AlertTables::Silences() const {
  std::vector<v1::Silence> out;
  Cursor cursor = db_.NewCursor(Family::kSilences);
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &out.emplace_back()));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return out;
}

absl::StatusOr<size_t> AlertTables::DropResolvedBefore(int64_t unix_ns, size_t limit) {
  WriteSet set = db_.NewWriteSet();
  size_t dropped = 0;
  Cursor cursor = db_.NewCursor(Family::kAlerts);
  for (cursor.Seek({}); cursor.Valid() && dropped < limit; cursor.Next()) {
    v1::Alert alert;
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &alert));
    const v1::AlertLife& life = alert.life();
    if (life.state() != v1::AlertLife::STATE_RESOLVED || life.resolved_unix_ns() >= unix_ns) continue;
    const std::string key(cursor.key());
    set.Delete(Family::kAlerts, key);
    const uint64_t last = life.last_sequence();
    for (uint64_t n = last > kMaxHistory ? last - kMaxHistory + 1 : 1; n <= last; ++n) {
      set.Delete(Family::kAlertHistory, HistoryKey(key, n));
    }
    ++dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  Cursor silences = db_.NewCursor(Family::kSilences);
  for (silences.Seek({}); silences.Valid() && dropped < limit; silences.Next()) {
    v1::Silence silence;
    FM_RETURN_IF_ERROR(DecodeMessage(silences.value(), &silence));
    const int64_t end = silence.ended_unix_ns() != 0 ? silence.ended_unix_ns() : silence.to_unix_ns();
    if (end >= unix_ns) continue;
    set.Delete(Family::kSilences, silences.key());
    ++dropped;
  }
  FM_RETURN_IF_ERROR(silences.status());
  if (dropped > 0) FM_RETURN_IF_ERROR(db_.Write(std::move(set)));
  return dropped;
}

}  // namespace fleetmark::collector
