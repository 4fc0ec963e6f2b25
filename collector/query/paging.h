// Reads a listing from the store in slices until the page is full in number or in bytes.
//
// Thread-safety: function without state.
#ifndef FLEETMARK_COLLECTOR_QUERY_PAGING_H_
#define FLEETMARK_COLLECTOR_QUERY_PAGING_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/store_types.h"
#include "common/base/status.h"

namespace fleetmark::collector {

inline constexpr uint32_t kFirstSlice = 64;

// `list(page, &next_token)` gives a StatusOr<vector<Item>>; `take(item)` is called for each in order.
// Returns the token of what follows, empty if nothing does. At most `max_bytes` are taken in all, except
// that a single item is always taken.
template <typename List, typename Take>
absl::StatusOr<std::string> ReadPage(const Page& page, size_t max_bytes, const List& list, const Take& take) {
  Page slice{std::min(page.limit, kFirstSlice), page.token};
  uint32_t taken = 0;
  size_t bytes = 0;
  while (true) {
    std::string next;
    FM_ASSIGN_OR_RETURN(auto items, list(slice, &next));
    size_t slice_bytes = 0;
    for (const auto& item : items) slice_bytes += item.ByteSizeLong();
    if (bytes + slice_bytes > max_bytes) {
      if (slice.limit == 1 && taken > 0) return slice.token;
      if (slice.limit > 1) {
        slice.limit = std::max(1u, slice.limit / 4);
        continue;
      }
    }
    for (auto& item : items) take(std::move(item));
    taken += static_cast<uint32_t>(items.size());
    bytes += slice_bytes;
    if (next.empty() || taken >= page.limit || bytes >= max_bytes) return next;
    slice.token = std::move(next);
    slice.limit = std::min(page.limit - taken, slice.limit * 2);
  }
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PAGING_H_
