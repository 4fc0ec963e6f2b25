// Groups: the series that one benchmark of one node reports together, whose samples share their times and
// runs. The values of the families groups, group_stats and rows as bytes, and back.
//
// A group's columns are its series. A column's number is never used again in its group.
//
// Thread-safety: functions without state. Errors: DataLoss for bytes that are no such value,
// FailedPrecondition for one of a newer version.
#ifndef FLEETMARK_COLLECTOR_STORE_GROUP_VALUES_H_
#define FLEETMARK_COLLECTOR_STORE_GROUP_VALUES_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/store/values.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// What all series of a group have in common.
struct GroupKey {
  std::string node;
  std::string benchmark;
  std::string plugin;
  std::string plugin_version;
  std::string params_digest;

  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};
// The fields joined by NUL, which none holds.
std::string GroupText(const GroupKey& key);
GroupKey GroupKeyOf(const std::string& node, const v1::Run& run);

// What tells a group's series apart.
struct ColumnKey {
  std::string metric;
  std::string unit;
  std::vector<std::pair<std::string, std::string>> labels;  // ascending

  friend auto operator<=>(const ColumnKey&, const ColumnKey&) = default;
};
ColumnKey ColumnKeyOf(const v1::Metric& metric);
// Whether the metric is of this column; cheaper than making its key.
bool IsOfColumn(const v1::Metric& metric, const ColumnKey& key);
v1::SeriesKey SeriesKeyFrom(const GroupKey& group, const ColumnKey& column);

// groups
struct GroupRecord {
  struct Column {
    uint16_t number = 0;
    uint64_t series_id = 0;
    v1::Better better = v1::BETTER_UNSPECIFIED;
    ColumnKey key;
  };
  GroupKey key;
  uint16_t next_column = 0;
  std::vector<Column> columns;  // ascending in number
};
std::string EncodeGroup(const GroupRecord& group);
absl::StatusOr<GroupRecord> DecodeGroup(std::string_view value);

// group_stats: where the group's chunks stand, and the totals of its series without the rows.
struct GroupStats {
  uint32_t next_chunk = 0;
  int64_t longest_chunk_ns = 0;  // from the first to the last time of a chunk, never less
  int64_t sealed_until_unix_ns = 0;
  std::vector<std::pair<uint16_t, SeriesStats>> columns;
};
std::string EncodeGroupStats(const GroupStats& stats);
absl::StatusOr<GroupStats> DecodeGroupStats(std::string_view value);

// rows: the samples of one run.
struct RowCell {
  uint16_t column = 0;
  double value = 0;
  double relative_spread = 0;
  uint32_t repetitions = 0;

  friend bool operator==(const RowCell&, const RowCell&) = default;
};
// `cells` ascending in column.
std::string EncodeRow(const std::vector<RowCell>& cells);
absl::Status DecodeRow(std::string_view value, std::vector<RowCell>* cells);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_GROUP_VALUES_H_
