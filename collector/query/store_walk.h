// Goes through a whole listing of the store, page by page, up to a bound; where it is met, `cut` is told by
// set_truncated(true).
//
// Thread-safety: functions without state. Errors: those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_STORE_WALK_H_
#define FLEETMARK_COLLECTOR_QUERY_STORE_WALK_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {

template <typename List, typename Cut, typename Visit>
absl::Status Walk(const List& list, size_t at_most, Cut& cut, const Visit& visit) {
  constexpr size_t kSlice = 1000;
  Page page;
  size_t seen = 0;
  while (true) {
    page.limit = static_cast<uint32_t>(std::min(kSlice, at_most - seen));
    std::string next;
    FM_ASSIGN_OR_RETURN(auto items, list(page, &next));
    seen += items.size();
    for (auto& item : items) visit(std::move(item));
    if (next.empty()) return absl::OkStatus();
    if (seen >= at_most) {
      cut.set_truncated(true);
      return absl::OkStatus();
    }
    page.token = std::move(next);
  }
}

template <typename Cut, typename Visit>
absl::Status WalkNodes(const Store& store, size_t at_most, Cut& cut, const Visit& visit) {
  return Walk([&](const Page& page, std::string* next) { return store.ListNodes(page, next); }, at_most, cut,
              visit);
}

template <typename Cut, typename Visit>
absl::Status WalkSeries(const Store& store, const v1::Selector& selector, size_t at_most, Cut& cut,
                        const Visit& visit) {
  return Walk([&](const Page& page, std::string* next) { return store.ListSeries(selector, page, next); },
              at_most, cut, visit);
}

template <typename Cut, typename Visit>
absl::Status WalkFindings(const Store& store, const v1::ListFindingsRequest& filter, size_t at_most, Cut& cut,
                          const Visit& visit) {
  return Walk([&](const Page& page, std::string* next) { return store.ListFindings(filter, page, next); },
              at_most, cut, visit);
}

template <typename Cut, typename Visit>
absl::Status WalkEvents(const Store& store, const v1::ListEventsRequest& filter, size_t at_most, Cut& cut,
                        const Visit& visit) {
  return Walk([&](const Page& page, std::string* next) { return store.ListEvents(filter, page, next); },
              at_most, cut, visit);
}

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_STORE_WALK_H_
