// Reading one page of a range of keys, in either direction: what all listings share.
//
// A page's token is the last key of the page before, in base 64; a listing goes on after it even if that
// key is gone. Errors: InvalidArgument for a token that belongs to no such listing.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_STORE_LISTING_H_
#define FLEETMARK_COLLECTOR_STORE_LISTING_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/store_types.h"
#include "common/base/status.h"

namespace fleetmark::collector {

struct KeyRange {
  std::string begin;
  std::string end;  // exclusive; empty: no end
  enum Order { kAscending, kDescending } order = kAscending;

  bool Contains(std::string_view key) const { return key >= begin && (end.empty() || key < end); }
};

// The keys under `prefix` (of TimeKeys) in the range, of which 0 means no bound; newest first.
inline KeyRange NewestFirst(const std::string& prefix, const v1::TimeRange& range) {
  KeyRange keys{prefix, PrefixEnd(prefix), KeyRange::kDescending};
  if (range.from_unix_ns() != 0) keys.begin = prefix + EncodeTimeKey({range.from_unix_ns(), {}});
  if (range.to_unix_ns() != 0) keys.end = prefix + EncodeTimeKey({range.to_unix_ns(), {}});
  return keys;
}

inline std::string EncodePageToken(std::string_view key) {
  return absl::WebSafeBase64Escape(absl::string_view(key.data(), key.size()));
}

// The key after which a page begins; empty for the first page.
inline absl::StatusOr<std::string> DecodePageToken(const KeyRange& range, const std::string& token) {
  std::string key;
  if (token.empty()) return key;
  if (!absl::WebSafeBase64Unescape(token, &key) || !range.Contains(key)) {
    return absl::InvalidArgumentError("page_token does not belong to this listing");
  }
  return key;
}

inline void SeekToPage(const KeyRange& range, const std::string& after, Cursor* cursor) {
  if (range.order == KeyRange::kAscending) {
    cursor->Seek(after.empty() ? range.begin : after);
    if (!after.empty() && cursor->Valid() && cursor->key() == after) cursor->Next();
  } else if (!after.empty() || !range.end.empty()) {
    cursor->SeekBefore(after.empty() ? range.end : after);
  } else {
    cursor->SeekToLast();
  }
}

// The items of the page; `read` makes an item of key and value, or none when it does not match.
template <typename T>
absl::StatusOr<std::vector<T>> ListPage(
    const Database& db, Family family, const KeyRange& range, const Page& page, std::string* next_token,
    absl::FunctionRef<absl::StatusOr<std::optional<T>>(std::string_view, std::string_view)> read) {
  FM_ASSIGN_OR_RETURN(const std::string after, DecodePageToken(range, page.token));
  next_token->clear();  // which may be page.token itself
  std::vector<T> items;
  if (page.limit == 0) return items;
  Cursor cursor = db.NewCursor(family);
  SeekToPage(range, after, &cursor);
  std::string last_key;
  while (cursor.Valid() && range.Contains(cursor.key())) {
    FM_ASSIGN_OR_RETURN(std::optional<T> item, read(cursor.key(), cursor.value()));
    if (item.has_value()) {
      if (items.size() == page.limit) {
        *next_token = EncodePageToken(last_key);
        return items;
      }
      items.push_back(*std::move(item));
      last_key = cursor.key();
    }
    range.order == KeyRange::kAscending ? cursor.Next() : cursor.Prev();
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return items;
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_LISTING_H_
