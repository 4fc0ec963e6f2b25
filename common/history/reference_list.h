// The references that a history holds, as the collector's configuration takes them.
//
// Thread-safety: none.
#ifndef FLEETMARK_COMMON_HISTORY_REFERENCE_LIST_H_
#define FLEETMARK_COMMON_HISTORY_REFERENCE_LIST_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "common/history/history.h"

namespace fleetmark {

class ReferenceList {
 public:
  static constexpr size_t kMaxReferences = 100'000;  // more are left out

  // Of each benchmark, metric and labels the newest counts. One with tolerances that ReFrame refuses does
  // not.
  void Add(const HistoryMetric& metric);
  size_t size() const { return references_.size(); }

  // YAML: the list `references`.
  std::string Yaml() const;

 private:
  using Key = std::tuple<std::string, std::string, std::map<std::string, std::string>>;
  struct Entry {
    v1::Reference reference;
    int64_t time_unix_ns = 0;
  };
  std::map<Key, Entry> references_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HISTORY_REFERENCE_LIST_H_
