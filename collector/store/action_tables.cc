#include "collector/store/action_tables.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kSwitchKey[] = "action_switch";

}  // namespace

absl::Status ActionTables::Write(const v1::Action& action, const v1::ActionChange& change) {
  FM_ASSIGN_OR_RETURN(const std::string key, IdKey("action_id", action.action_id()));
  const uint64_t sequence = change.sequence();
  WriteSet set = db_.NewWriteSet();
  set.Put(Family::kActions, key, EncodeMessage(action));
  set.Put(Family::kActionHistory, HistoryKey(key, sequence), EncodeMessage(change));
  if (sequence > kMaxHistory) set.Delete(Family::kActionHistory, HistoryKey(key, sequence - kMaxHistory));
  return db_.Write(std::move(set));
}

absl::StatusOr<v1::Action> ActionTables::GetAction(const std::string& action_id) const {
  FM_ASSIGN_OR_RETURN(const std::string key, IdKey("action_id", action_id));
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db_.Get(Family::kActions, key));
  if (!value.has_value()) return absl::NotFoundError(absl::StrCat("action ", action_id));
  v1::Action action;
  FM_RETURN_IF_ERROR(DecodeMessage(*value, &action));
  return action;
}

absl::Status ActionTables::ScanActions(const std::string& before,
                                       absl::FunctionRef<bool(const v1::Action&)> visit) const {
  Cursor cursor = db_.NewCursor(Family::kActions);
  if (before.empty()) {
    cursor.SeekToLast();
  } else {
    FM_ASSIGN_OR_RETURN(const std::string key, IdKey("page_token", before));
    cursor.SeekBefore(key);
  }
  for (; cursor.Valid(); cursor.Prev()) {
    v1::Action action;
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &action));
    if (!visit(action)) return absl::OkStatus();
  }
  return cursor.status();
}

absl::StatusOr<std::vector<v1::ActionChange>> ActionTables::History(const std::string& action_id) const {
  FM_ASSIGN_OR_RETURN(const std::string key, IdKey("action_id", action_id));
  const std::string end = PrefixEnd(key);
  std::vector<v1::ActionChange> out;
  Cursor cursor = db_.NewCursor(Family::kActionHistory);
  for (cursor.Seek(key); cursor.Valid() && (end.empty() || cursor.key() < end); cursor.Next()) {
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &out.emplace_back()));
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return out;
}

absl::StatusOr<v1::ActionSwitch> ActionTables::GetSwitch() const {
  v1::ActionSwitch out;
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db_.Get(Family::kMeta, kSwitchKey));
  if (value.has_value()) FM_RETURN_IF_ERROR(DecodeMessage(*value, &out));
  return out;
}

absl::Status ActionTables::PutSwitch(const v1::ActionSwitch& value) {
  WriteSet set = db_.NewWriteSet();
  set.Put(Family::kMeta, kSwitchKey, EncodeMessage(value));
  return db_.Write(std::move(set));
}

absl::StatusOr<size_t> ActionTables::DropEndedBefore(int64_t unix_ns, size_t limit) {
  WriteSet set = db_.NewWriteSet();
  size_t dropped = 0;
  Cursor cursor = db_.NewCursor(Family::kActions);
  for (cursor.Seek({}); cursor.Valid() && dropped < limit; cursor.Next()) {
    v1::Action action;
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &action));
    if (action.ended_unix_ns() == 0 || action.ended_unix_ns() >= unix_ns) continue;
    const std::string key(cursor.key());
    set.Delete(Family::kActions, key);
    const uint64_t last = action.last_sequence();
    for (uint64_t n = last > kMaxHistory ? last - kMaxHistory + 1 : 1; n <= last; ++n) {
      set.Delete(Family::kActionHistory, HistoryKey(key, n));
    }
    ++dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  if (dropped > 0) FM_RETURN_IF_ERROR(db_.Write(std::move(set)));
  return dropped;
}

}  // namespace fleetmark::collector
