#include "collector/store/sample_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

int64_t Before(int64_t time, int64_t by) { return time < kNoTime + by ? kNoTime : time - by; }

std::string Name(const Group& group, uint16_t column) {
  return absl::StrCat("group ", group.id, ", column ", column);
}

// Moves to the key, which is most often the next one.
bool MoveTo(const std::string& key, Cursor* cursor) {
  if (cursor->Valid() && cursor->key() < key) cursor->Next();
  if (!cursor->Valid() || cursor->key() != key) cursor->Seek(key);
  return cursor->Valid() && cursor->key() == key;
}

template <typename T>
void Reorder(const std::vector<size_t>& order, std::vector<T>* column) {
  if (column->empty()) return;
  std::vector<T> sorted;
  sorted.reserve(column->size());
  for (const size_t i : order) sorted.push_back((*column)[i]);
  column->swap(sorted);
}

// Chunks follow one another in time, but late samples have chunks of their own.
void SortByTime(SampleColumns* samples) {
  if (std::is_sorted(samples->times.begin(), samples->times.end())) return;
  std::vector<size_t> order(samples->times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [samples](size_t a, size_t b) { return samples->times[a] < samples->times[b]; });
  Reorder(order, &samples->times);
  Reorder(order, &samples->values);
  Reorder(order, &samples->runs);
  Reorder(order, &samples->spreads);
}

// The place of `row` among those that have a value.
std::optional<size_t> IndexOf(const ValueColumn& column, uint32_t row) {
  if (column.present.empty()) return row < column.values.size() ? std::optional<size_t>(row) : std::nullopt;
  const auto it = std::lower_bound(column.present.begin(), column.present.end(), row);
  if (it == column.present.end() || *it != row) return std::nullopt;
  return static_cast<size_t>(it - column.present.begin());
}

}  // namespace

void SampleColumns::Clear() {
  times.clear();
  values.clear();
  runs.clear();
  spreads.clear();
}

SampleReader::SampleReader(const Database& db)
    : snapshot_(db.NewSnapshot()),
      values_(db.NewCursor(Family::kChunks, snapshot_)),
      times_(db.NewCursor(Family::kChunks, snapshot_)),
      others_(db.NewCursor(Family::kChunks, snapshot_)),
      rows_(db.NewCursor(Family::kRows, snapshot_)) {}

absl::Status SampleReader::Read(const Group& group, uint16_t column, int64_t from_unix_ns, int64_t to_unix_ns,
                                Want want, SampleColumns* out) {
  out->Clear();
  if (from_unix_ns >= to_unix_ns) return absl::OkStatus();
  FM_RETURN_IF_ERROR(
      Annotate(AppendChunks(group, column, from_unix_ns, to_unix_ns, want, out), Name(group, column)));
  FM_RETURN_IF_ERROR(
      Annotate(AppendRows(group, column, from_unix_ns, to_unix_ns, want, out), Name(group, column)));
  SortByTime(out);
  return absl::OkStatus();
}

absl::Status SampleReader::AppendChunks(const Group& group, uint16_t column, int64_t from, int64_t to,
                                        Want want, SampleColumns* out) {
  const std::string prefix = ChunkColumnPrefix(group.id, ColumnKind::kValues, column);
  const std::string begin =
      EncodeChunkKey({group.id, ColumnKind::kValues, column, {Before(from, group.longest_chunk_ns), 0}});
  for (values_.Seek(begin); values_.Valid() && values_.key().starts_with(prefix); values_.Next()) {
    const std::optional<ChunkKey> key = ParseChunkKey(values_.key());
    if (!key.has_value()) return absl::DataLossError("a chunk's key is malformed");
    if (key->place.first_unix_ns >= to) break;
    FM_RETURN_IF_ERROR(AppendChunk(group, column, key->place, from, to, want, out));
  }
  return values_.status();
}

absl::Status SampleReader::AppendChunk(const Group& group, uint16_t column, const ChunkPlace& place,
                                       int64_t from, int64_t to, Want want, SampleColumns* out) {
  FM_RETURN_IF_ERROR(ReadTimes(group, place));
  const std::vector<int64_t>& times = chunk_.times;
  const auto begin = std::lower_bound(times.begin(), times.end(), from) - times.begin();
  const auto end = std::lower_bound(times.begin(), times.end(), to) - times.begin();
  if (begin >= end) return absl::OkStatus();
  FM_RETURN_IF_ERROR(DecodeValues(values_.value(), &column_));
  if (column_.rows != times.size()) return absl::DataLossError("a chunk's columns differ in length");
  bool has_spreads = false;
  if (want == kAll) {
    FM_RETURN_IF_ERROR(ReadRuns(group, place));
    FM_ASSIGN_OR_RETURN(has_spreads,
                        ReadValues(group, ColumnKind::kSpreads, column, place, &others_, &spread_));
  }
  if (column_.present.empty() && want == kValues) {
    out->times.insert(out->times.end(), times.begin() + begin, times.begin() + end);
    out->values.insert(out->values.end(), column_.values.begin() + begin, column_.values.begin() + end);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < column_.values.size(); ++i) {
    const uint32_t row = column_.present.empty() ? static_cast<uint32_t>(i) : column_.present[i];
    if (row < begin || row >= end) continue;
    out->times.push_back(times[row]);
    out->values.push_back(column_.values[i]);
    if (want == kValues) continue;
    UlidBytes& run = out->runs.emplace_back();
    std::memcpy(run.data(), chunk_.runs.data() + row * run.size(), run.size());
    const std::optional<size_t> spread = has_spreads ? IndexOf(spread_, row) : std::nullopt;
    out->spreads.push_back(spread.has_value() ? spread_.values[*spread] : 0);
  }
  return absl::OkStatus();
}

absl::Status SampleReader::AppendRows(const Group& group, uint16_t column, int64_t from, int64_t to,
                                      Want want, SampleColumns* out) {
  if (group.rows == 0) return absl::OkStatus();
  const std::string end = EncodeRowKey({group.id, to, {}});
  for (rows_.Seek(EncodeRowKey({group.id, from, {}})); rows_.Valid() && rows_.key() < end; rows_.Next()) {
    const std::optional<RowKey> key = ParseRowKey(rows_.key());
    if (!key.has_value()) return absl::DataLossError("a row's key is malformed");
    FM_RETURN_IF_ERROR(DecodeRow(rows_.value(), &cells_));
    const auto cell = std::lower_bound(cells_.begin(), cells_.end(), column,
                                       [](const RowCell& c, uint16_t number) { return c.column < number; });
    if (cell == cells_.end() || cell->column != column) continue;
    out->times.push_back(key->time_unix_ns);
    out->values.push_back(cell->value);
    if (want == kValues) continue;
    out->runs.push_back(key->run);
    out->spreads.push_back(cell->relative_spread);
  }
  return rows_.status();
}

absl::Status SampleReader::ReadTimes(const Group& group, const ChunkPlace& place) {
  if (chunk_.valid && chunk_.group == group.id && chunk_.place == place) return absl::OkStatus();
  chunk_.valid = false;
  chunk_.has_runs = false;
  chunk_.group = group.id;
  chunk_.place = place;
  if (!MoveTo(EncodeChunkKey({group.id, ColumnKind::kTimes, 0, place}), &times_)) {
    FM_RETURN_IF_ERROR(times_.status());
    return absl::DataLossError("a chunk's times are missing");
  }
  FM_RETURN_IF_ERROR(DecodeTimes(times_.value(), &chunk_.times));
  if (!std::is_sorted(chunk_.times.begin(), chunk_.times.end())) {
    return absl::DataLossError("a chunk's times are not in order");
  }
  chunk_.valid = true;
  return absl::OkStatus();
}

absl::Status SampleReader::ReadRuns(const Group& group, const ChunkPlace& place) {
  if (chunk_.has_runs) return absl::OkStatus();
  if (!MoveTo(EncodeChunkKey({group.id, ColumnKind::kRuns, 0, place}), &others_)) {
    FM_RETURN_IF_ERROR(others_.status());
    return absl::DataLossError("a chunk's runs are missing");
  }
  FM_RETURN_IF_ERROR(DecodeRunIds(others_.value(), chunk_.times, &chunk_.runs));
  chunk_.has_runs = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> SampleReader::ReadValues(const Group& group, ColumnKind kind, uint16_t column,
                                              const ChunkPlace& place, Cursor* cursor, ValueColumn* out) {
  if (!MoveTo(EncodeChunkKey({group.id, kind, column, place}), cursor)) {
    FM_RETURN_IF_ERROR(cursor->status());
    return false;
  }
  FM_RETURN_IF_ERROR(DecodeValues(cursor->value(), out));
  if (out->rows != chunk_.times.size()) return absl::DataLossError("a chunk's columns differ in length");
  return true;
}

// Complete from some time on, so that its last ones are the last ones: chunks are counted backwards until
// there are enough, and then all from the earliest of them on are read.
absl::Status SampleReader::ReadLast(const Group& group, uint16_t column, int64_t to_unix_ns, size_t count,
                                    SampleColumns* out) {
  out->Clear();
  if (count == 0) return absl::OkStatus();
  const std::string prefix = ChunkColumnPrefix(group.id, ColumnKind::kValues, column);
  size_t want = count;
  for (;;) {
    size_t found = 0;
    int64_t from = kNoTime;
    values_.SeekBefore(EncodeChunkKey({group.id, ColumnKind::kValues, column, {to_unix_ns, 0}}));
    for (; values_.Valid() && values_.key().starts_with(prefix); values_.Prev()) {
      const std::optional<ChunkKey> key = ParseChunkKey(values_.key());
      if (!key.has_value()) return absl::DataLossError("a chunk's key is malformed");
      FM_RETURN_IF_ERROR(Annotate(DecodeValues(values_.value(), &column_), Name(group, column)));
      found += column_.values.size();
      if (found >= want) {
        from = key->place.first_unix_ns;
        break;
      }
    }
    FM_RETURN_IF_ERROR(values_.status());
    FM_RETURN_IF_ERROR(Read(group, column, from, to_unix_ns, kAll, out));
    if (out->times.size() >= count || from == kNoTime) break;
    want *= 2;  // the chunks held samples that are not before `to`
  }
  if (out->times.size() <= count) return absl::OkStatus();
  const auto drop = static_cast<std::ptrdiff_t>(out->times.size() - count);
  out->times.erase(out->times.begin(), out->times.begin() + drop);
  out->values.erase(out->values.begin(), out->values.begin() + drop);
  out->runs.erase(out->runs.begin(), out->runs.begin() + drop);
  out->spreads.erase(out->spreads.begin(), out->spreads.begin() + drop);
  return absl::OkStatus();
}

absl::Status SampleReader::ReadCells(const Group& group, const ChunkPlace& place, uint32_t row,
                                     std::vector<RowCell>* cells) {
  const std::pair<ColumnKind, void (*)(RowCell*, double)> kinds[] = {
      {ColumnKind::kValues, [](RowCell* cell, double v) { cell->value = v; }},
      {ColumnKind::kSpreads, [](RowCell* cell, double v) { cell->relative_spread = v; }},
      {ColumnKind::kRepetitions,
       [](RowCell* cell, double v) { cell->repetitions = static_cast<uint32_t>(v); }}};
  for (const Group::Column& column : group.columns) {
    bool there = false;
    for (const auto& [kind, set] : kinds) {
      FM_ASSIGN_OR_RETURN(const bool found,
                          ReadValues(group, kind, column.number, place, &others_, &spread_));
      const std::optional<size_t> index = found ? IndexOf(spread_, row) : std::nullopt;
      if (kind == ColumnKind::kValues) {
        if (!index.has_value()) break;
        cells->emplace_back().column = column.number;
        there = true;
      }
      if (there && index.has_value()) set(&cells->back(), spread_.values[*index]);
    }
  }
  return absl::OkStatus();
}

absl::Status SampleReader::ReadRow(const Group& group, int64_t time_unix_ns, const UlidBytes& run,
                                   std::vector<RowCell>* cells) {
  cells->clear();
  if (MoveTo(EncodeRowKey({group.id, time_unix_ns, run}), &rows_)) {
    return Annotate(DecodeRow(rows_.value(), cells), absl::StrCat("group ", group.id));
  }
  FM_RETURN_IF_ERROR(rows_.status());
  const std::string prefix = ChunkColumnPrefix(group.id, ColumnKind::kTimes, 0);
  values_.Seek(
      EncodeChunkKey({group.id, ColumnKind::kTimes, 0, {Before(time_unix_ns, group.longest_chunk_ns), 0}}));
  for (; values_.Valid() && values_.key().starts_with(prefix); values_.Next()) {
    const std::optional<ChunkKey> key = ParseChunkKey(values_.key());
    if (!key.has_value()) return absl::DataLossError("a chunk's key is malformed");
    if (key->place.first_unix_ns > time_unix_ns) break;
    FM_RETURN_IF_ERROR(ReadTimes(group, key->place));
    const auto [begin, end] = std::equal_range(chunk_.times.begin(), chunk_.times.end(), time_unix_ns);
    if (begin == end) continue;
    FM_RETURN_IF_ERROR(ReadRuns(group, key->place));
    for (auto it = begin; it != end; ++it) {
      const auto row = static_cast<size_t>(it - chunk_.times.begin());
      if (std::memcmp(chunk_.runs.data() + row * run.size(), run.data(), run.size()) != 0) continue;
      return ReadCells(group, key->place, static_cast<uint32_t>(row), cells);
    }
  }
  return values_.status();
}

}  // namespace fleetmark::collector
