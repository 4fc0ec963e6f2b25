// What series there are: groups by their key, series by their id, and posting lists by label, all in memory
// (docs/storage-format.md says how much). The store fills it when it opens.
//
// Thread-safety: all methods, any thread. A Group is immutable once published; the one writer publishes a new
// one in its place.
// Errors: InvalidArgument for a regular expression that RE2 does not accept.
#ifndef FLEETMARK_COLLECTOR_STORE_SERIES_CATALOG_H_
#define FLEETMARK_COLLECTOR_STORE_SERIES_CATALOG_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "collector/store/group_values.h"
#include "collector/store/store_types.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

struct Group {
  struct Column {
    std::shared_ptr<const ColumnKey> key;  // shared with the same column of other groups
    uint64_t series_id = 0;
    uint16_t number = 0;
    v1::Better better = v1::BETTER_UNSPECIFIED;
    bool dirty = false;
    SeriesStats stats;
  };

  uint32_t id = 0;
  std::shared_ptr<const GroupKey> key;
  std::vector<Column> columns;  // ascending in number
  uint16_t next_column = 0;
  uint32_t next_chunk = 0;
  uint32_t rows = 0;  // that are in no chunk yet
  int64_t longest_chunk_ns = 0;
  int64_t sealed_until_unix_ns = INT64_MIN;
  int64_t last_day = INT64_MIN;  // the day last noted for the tiers
  bool dirty_on_disk = false;

  const Column* FindColumn(uint16_t number) const;
  Column* FindColumn(uint16_t number);
  GroupRecord ToRecord() const;
  GroupStats ToStats() const;
};
using GroupPtr = std::shared_ptr<const Group>;

struct SeriesPlace {
  GroupPtr group;
  uint16_t column = 0;

  const Group::Column& operator*() const { return *group->FindColumn(column); }
  const Group::Column* operator->() const { return group->FindColumn(column); }
};

class SeriesCatalog {
 public:
  // One text for equal keys, so that ten thousand nodes share one column's.
  std::shared_ptr<const ColumnKey> Intern(ColumnKey key);

  GroupPtr Find(const std::string& group_text) const;
  GroupPtr Get(uint32_t group) const;
  std::optional<SeriesPlace> FindSeries(uint64_t series_id) const;

  // Puts the group in the place of the one with its id. Columns may have come and gone; a group without any
  // is not there.
  void Publish(Group group);
  void Remove(uint32_t group);

  // The series that all matchers match, ascending in id.
  absl::StatusOr<std::vector<uint64_t>> Select(absl::Span<const LabelMatcher> matchers) const;
  std::vector<std::string> LabelNames() const;
  std::vector<std::string> LabelValues(const std::string& label) const;
  std::vector<MetricOfBenchmark> Metrics() const;

  // Groups with a dirty column, ascending, at most `limit`.
  std::vector<GroupPtr> DirtyGroups(size_t limit) const;
  // At most `limit` groups whose id is at least `from`, ascending.
  std::vector<GroupPtr> Groups(uint32_t from, size_t limit) const;

  // How many series the node has.
  uint64_t SeriesOfNode(const std::string& node) const;

  uint32_t next_group() const;
  uint64_t next_series() const;

 private:
  using Postings = std::vector<uint32_t>;  // ids of groups, ascending
  struct Place {
    uint32_t group = 0;
    uint16_t column = 0;
  };
  struct ColumnEntry {
    std::weak_ptr<const ColumnKey> key;
    Postings groups;
  };
  // By the fields of GroupKey.
  static constexpr size_t kGroupLabels = 5;

  void CountSeriesLocked(const Group& group, const Group::Column& column, int by)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void IndexLocked(const Group* before, const Group* now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::optional<Postings>> MatchGroupsLocked(absl::Span<const LabelMatcher> matchers) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::map<uint32_t, GroupPtr> groups_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, uint32_t> by_text_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, Place> series_ ABSL_GUARDED_BY(mu_);
  std::map<ColumnKey, ColumnEntry> columns_ ABSL_GUARDED_BY(mu_);
  std::map<MetricOfBenchmark, uint64_t> metrics_ ABSL_GUARDED_BY(mu_);       // with how many series
  absl::flat_hash_map<std::string, uint64_t> by_node_ ABSL_GUARDED_BY(mu_);  // how many series
  std::array<absl::flat_hash_map<std::string, Postings>, kGroupLabels> postings_ ABSL_GUARDED_BY(mu_);
  std::set<uint32_t> dirty_ ABSL_GUARDED_BY(mu_);
  uint32_t next_group_ ABSL_GUARDED_BY(mu_) = 1;
  uint64_t next_series_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SERIES_CATALOG_H_
