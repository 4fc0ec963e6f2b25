#include "collector/store/group_values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/bit_stream.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion = 1;
constexpr uint8_t kHasExtras = 1;  // of a row: spreads and repetitions follow the values

absl::Status Malformed(const char* what) { return absl::DataLossError(absl::StrCat(what, " is malformed")); }

absl::StatusOr<std::string_view> Payload(std::string_view value, const char* what) {
  if (value.empty() || value[0] == 0) return Malformed(what);
  if (value[0] != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(what, " has version ", static_cast<int>(value[0])));
  }
  value.remove_prefix(1);
  return value;
}

void AppendText(std::string* out, std::string_view text) {
  AppendVarint(out, text.size());
  out->append(text);
}

bool TakeText(std::string_view* in, std::string* text) {
  uint64_t size = 0;
  if (!TakeVarint(in, &size) || size > in->size()) return false;
  text->assign(in->substr(0, size));
  in->remove_prefix(size);
  return true;
}

void AppendReal(std::string* out, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  char bytes[8];
  std::memcpy(bytes, &bits, sizeof bytes);
  out->append(bytes, sizeof bytes);
}

bool TakeReal(std::string_view* in, double* value) {
  if (in->size() < 8) return false;
  std::memcpy(value, in->data(), 8);
  in->remove_prefix(8);
  return true;
}

bool TakeSmall(std::string_view* in, uint64_t max, uint64_t* value) {
  return TakeVarint(in, value) && *value <= max;
}

bool TakeColumnNumber(std::string_view* in, uint16_t* number) {
  uint64_t wide = 0;
  if (!TakeSmall(in, UINT16_MAX, &wide)) return false;
  *number = static_cast<uint16_t>(wide);
  return true;
}

bool TakeColumn(std::string_view* in, GroupRecord::Column* column) {
  uint64_t better = 0;
  uint64_t labels = 0;
  if (!TakeColumnNumber(in, &column->number) || !TakeVarint(in, &column->series_id) ||
      !TakeSmall(in, v1::Better_MAX, &better) || !TakeText(in, &column->key.metric) ||
      !TakeText(in, &column->key.unit) || !TakeSmall(in, in->size(), &labels)) {
    return false;
  }
  column->better = static_cast<v1::Better>(better);
  for (uint64_t i = 0; i < labels; ++i) {
    auto& [name, text] = column->key.labels.emplace_back();
    if (!TakeText(in, &name) || !TakeText(in, &text)) return false;
  }
  return true;
}

}  // namespace

std::string GroupText(const GroupKey& key) {
  std::string text;
  text.reserve(key.node.size() + key.benchmark.size() + key.plugin.size() + key.plugin_version.size() +
               key.params_digest.size() + 5);
  for (const std::string* field :
       {&key.node, &key.benchmark, &key.plugin, &key.plugin_version, &key.params_digest}) {
    text.append(*field).push_back('\0');
  }
  return text;
}

GroupKey GroupKeyOf(const std::string& node, const v1::Run& run) {
  return {node, run.benchmark(), run.plugin(), run.plugin_version(), run.params_digest()};
}

ColumnKey ColumnKeyOf(const v1::Metric& metric) {
  ColumnKey key{metric.name(), metric.unit(), {metric.labels().begin(), metric.labels().end()}};
  std::sort(key.labels.begin(), key.labels.end());
  return key;
}

bool IsOfColumn(const v1::Metric& metric, const ColumnKey& key) {
  if (metric.name() != key.metric || metric.unit() != key.unit ||
      static_cast<size_t>(metric.labels().size()) != key.labels.size()) {
    return false;
  }
  for (const auto& [name, value] : key.labels) {
    const auto it = metric.labels().find(name);
    if (it == metric.labels().end() || it->second != value) return false;
  }
  return true;
}

v1::SeriesKey SeriesKeyFrom(const GroupKey& group, const ColumnKey& column) {
  v1::SeriesKey key;
  key.set_node(group.node);
  key.set_benchmark(group.benchmark);
  key.set_metric(column.metric);
  key.set_unit(column.unit);
  for (const auto& [name, value] : column.labels) (*key.mutable_labels())[name] = value;
  key.set_plugin(group.plugin);
  key.set_plugin_version(group.plugin_version);
  key.set_params_digest(group.params_digest);
  return key;
}

std::string EncodeGroup(const GroupRecord& group) {
  std::string value(1, kVersion);
  for (const std::string* field : {&group.key.node, &group.key.benchmark, &group.key.plugin,
                                   &group.key.plugin_version, &group.key.params_digest}) {
    AppendText(&value, *field);
  }
  AppendVarint(&value, group.next_column);
  AppendVarint(&value, group.columns.size());
  for (const GroupRecord::Column& column : group.columns) {
    AppendVarint(&value, column.number);
    AppendVarint(&value, column.series_id);
    AppendVarint(&value, static_cast<uint64_t>(column.better));
    AppendText(&value, column.key.metric);
    AppendText(&value, column.key.unit);
    AppendVarint(&value, column.key.labels.size());
    for (const auto& [name, text] : column.key.labels) {
      AppendText(&value, name);
      AppendText(&value, text);
    }
  }
  return value;
}

absl::StatusOr<GroupRecord> DecodeGroup(std::string_view value) {
  FM_ASSIGN_OR_RETURN(std::string_view in, Payload(value, "a stored group"));
  GroupRecord group;
  for (std::string* field : {&group.key.node, &group.key.benchmark, &group.key.plugin,
                             &group.key.plugin_version, &group.key.params_digest}) {
    if (!TakeText(&in, field)) return Malformed("a stored group");
  }
  uint64_t columns = 0;
  if (!TakeColumnNumber(&in, &group.next_column) || !TakeSmall(&in, in.size(), &columns)) {
    return Malformed("a stored group");
  }
  for (uint64_t i = 0; i < columns; ++i) {
    if (!TakeColumn(&in, &group.columns.emplace_back())) return Malformed("a stored group");
  }
  if (!in.empty()) return Malformed("a stored group");
  return group;
}

std::string EncodeGroupStats(const GroupStats& stats) {
  std::string value(1, kVersion);
  AppendVarint(&value, stats.next_chunk);
  AppendSigned(&value, stats.longest_chunk_ns);
  AppendSigned(&value, stats.sealed_until_unix_ns);
  AppendVarint(&value, stats.columns.size());
  for (const auto& [number, column] : stats.columns) {
    AppendVarint(&value, number);
    AppendVarint(&value, column.samples);
    AppendSigned(&value, column.first_unix_ns);
    AppendSigned(&value, column.last_unix_ns);
    AppendReal(&value, column.last_value);
  }
  return value;
}

absl::StatusOr<GroupStats> DecodeGroupStats(std::string_view value) {
  constexpr char kWhat[] = "a group's stored totals";
  FM_ASSIGN_OR_RETURN(std::string_view in, Payload(value, kWhat));
  GroupStats stats;
  uint64_t next_chunk = 0;
  uint64_t columns = 0;
  if (!TakeSmall(&in, UINT32_MAX, &next_chunk) || !TakeSigned(&in, &stats.longest_chunk_ns) ||
      !TakeSigned(&in, &stats.sealed_until_unix_ns) || !TakeSmall(&in, in.size(), &columns)) {
    return Malformed(kWhat);
  }
  stats.next_chunk = static_cast<uint32_t>(next_chunk);
  for (uint64_t i = 0; i < columns; ++i) {
    auto& [number, column] = stats.columns.emplace_back();
    if (!TakeColumnNumber(&in, &number) || !TakeVarint(&in, &column.samples) ||
        !TakeSigned(&in, &column.first_unix_ns) || !TakeSigned(&in, &column.last_unix_ns) ||
        !TakeReal(&in, &column.last_value)) {
      return Malformed(kWhat);
    }
  }
  if (!in.empty()) return Malformed(kWhat);
  return stats;
}

// Columns as gaps from the one before, so that a run's are a zero byte each.
std::string EncodeRow(const std::vector<RowCell>& cells) {
  const bool extras = std::any_of(cells.begin(), cells.end(), [](const RowCell& cell) {
    return cell.relative_spread != 0 || cell.repetitions != 0;
  });
  std::string value;
  value.reserve(4 + cells.size() * (extras ? 18 : 9));
  value.push_back(kVersion);
  value.push_back(extras ? kHasExtras : 0);
  AppendVarint(&value, cells.size());
  unsigned next = 0;
  for (const RowCell& cell : cells) {
    AppendVarint(&value, cell.column - next);
    next = cell.column + 1u;
  }
  for (const RowCell& cell : cells) AppendReal(&value, cell.value);
  if (!extras) return value;
  for (const RowCell& cell : cells) {
    AppendReal(&value, cell.relative_spread);
    AppendVarint(&value, cell.repetitions);
  }
  return value;
}

absl::Status DecodeRow(std::string_view value, std::vector<RowCell>* cells) {
  constexpr char kWhat[] = "a stored row";
  FM_ASSIGN_OR_RETURN(std::string_view in, Payload(value, kWhat));
  uint8_t flags = 0;
  uint64_t count = 0;
  if (!TakeByte(&in, &flags) || flags > kHasExtras || !TakeSmall(&in, in.size(), &count)) {
    return Malformed(kWhat);
  }
  cells->assign(count, RowCell());
  uint64_t next = 0;
  for (RowCell& cell : *cells) {
    uint64_t gap = 0;
    if (!TakeSmall(&in, UINT16_MAX, &gap) || next + gap > UINT16_MAX) return Malformed(kWhat);
    cell.column = static_cast<uint16_t>(next + gap);
    next += gap + 1;
  }
  for (RowCell& cell : *cells) {
    if (!TakeReal(&in, &cell.value)) return Malformed(kWhat);
  }
  if (flags == kHasExtras) {
    for (RowCell& cell : *cells) {
      uint64_t repetitions = 0;
      if (!TakeReal(&in, &cell.relative_spread) || !TakeSmall(&in, UINT32_MAX, &repetitions)) {
        return Malformed(kWhat);
      }
      cell.repetitions = static_cast<uint32_t>(repetitions);
    }
  }
  return in.empty() ? absl::OkStatus() : Malformed(kWhat);
}

}  // namespace fleetmark::collector
