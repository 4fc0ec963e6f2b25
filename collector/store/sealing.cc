#include "collector/store/sealing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "collector/store/chunk_codec/column_codec.h"
#include "collector/store/keys.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

// A row costs about ten times its share of a chunk, a read decodes whole chunks, and the fixed bytes of a
// column are shared by its values: about a day and a half at a run every 15 minutes.
constexpr uint32_t kLeastRows = 128;
constexpr uint32_t kSpreadRows = 64;
constexpr size_t kMostRows = 512;
// So that a range's reading never looks further back than this for chunks that reach into it.
constexpr int64_t kLongestChunkNs = int64_t{32} * 24 * 3600 * 1'000'000'000;

struct Row {
  RowKey key;
  std::vector<RowCell> cells;
};

absl::Status ReadRows(const Database& db, uint32_t group, std::vector<Row>* rows) {
  const std::string prefix = GroupIdKey(group);
  Cursor cursor = db.NewCursor(Family::kRows);
  for (cursor.Seek(prefix); cursor.Valid() && cursor.key().starts_with(prefix); cursor.Next()) {
    const std::optional<RowKey> key = ParseRowKey(cursor.key());
    if (!key.has_value()) return absl::DataLossError("a row's key is malformed");
    Row& row = rows->emplace_back();
    row.key = *key;
    FM_RETURN_IF_ERROR(Annotate(DecodeRow(cursor.value(), &row.cells), absl::StrCat("group ", group)));
  }
  return cursor.status();
}

class ChunkWriter {
 public:
  ChunkWriter(Group* group, WriteSet* writes) : group_(group), writes_(writes) {}

  void Write(absl::Span<const Row> rows) {
    place_ = {rows.front().key.time_unix_ns, group_->next_chunk++};
    std::vector<int64_t> times;
    std::vector<std::string_view> runs;
    for (const Row& row : rows) {
      times.push_back(row.key.time_unix_ns);
      runs.emplace_back(row.key.run.data(), row.key.run.size());
    }
    Put(ColumnKind::kTimes, 0, EncodeTimes(times));
    Put(ColumnKind::kRuns, 0, EncodeRunIds(runs, times));
    WriteCells(rows);
    group_->longest_chunk_ns = std::max(group_->longest_chunk_ns, times.back() - times.front());
    group_->sealed_until_unix_ns = std::max(group_->sealed_until_unix_ns, times.back());
  }

 private:
  struct Columns {
    ValueColumn values;
    ValueColumn spreads;
    ValueColumn repetitions;
  };

  void WriteCells(absl::Span<const Row> rows) {
    std::vector<Columns> columns(group_->next_column);
    for (uint32_t i = 0; i < rows.size(); ++i) {
      for (const RowCell& cell : rows[i].cells) {
        Columns& column = columns[cell.column];
        Add(i, cell.value, &column.values);
        if (cell.relative_spread != 0) Add(i, cell.relative_spread, &column.spreads);
        if (cell.repetitions != 0) Add(i, cell.repetitions, &column.repetitions);
      }
    }
    for (uint16_t number = 0; number < columns.size(); ++number) {
      PutValues(ColumnKind::kValues, number, rows.size(), &columns[number].values);
      PutValues(ColumnKind::kSpreads, number, rows.size(), &columns[number].spreads);
      PutValues(ColumnKind::kRepetitions, number, rows.size(), &columns[number].repetitions);
    }
  }

  static void Add(uint32_t row, double value, ValueColumn* column) {
    column->present.push_back(row);
    column->values.push_back(value);
  }

  void PutValues(ColumnKind kind, uint16_t number, size_t rows, ValueColumn* column) {
    if (column->values.empty()) return;
    column->rows = rows;
    if (column->present.size() == rows) column->present.clear();
    Put(kind, number, EncodeValues(*column));
  }

  void Put(ColumnKind kind, uint16_t number, const std::string& value) {
    writes_->Put(Family::kChunks, EncodeChunkKey({group_->id, kind, number, place_}), value);
  }

  Group* const group_;
  WriteSet* const writes_;
  ChunkPlace place_;
};

// In pieces that are neither too long nor too far apart.
void WriteChunks(absl::Span<const Row> rows, ChunkWriter* writer) {
  while (!rows.empty()) {
    size_t size = 1;
    const int64_t first = rows[0].key.time_unix_ns;
    while (size < rows.size() && size < kMostRows) {
      int64_t apart = 0;
      if (__builtin_sub_overflow(rows[size].key.time_unix_ns, first, &apart) || apart > kLongestChunkNs)
        break;
      ++size;
    }
    writer->Write(rows.subspan(0, size));
    rows.remove_prefix(size);
  }
}

}  // namespace

bool ShouldSeal(const Group& group) { return group.rows >= kLeastRows + group.id * 37 % kSpreadRows; }

absl::Status SealGroup(const Database& db, Group* group, WriteSet* writes) {
  std::vector<Row> rows;
  FM_RETURN_IF_ERROR(ReadRows(db, group->id, &rows));
  group->rows = 0;
  if (rows.empty()) return absl::OkStatus();
  for (const Row& row : rows) {
    if (!row.cells.empty() && row.cells.back().column >= group->next_column) {
      return absl::DataLossError(
          absl::StrCat("group ", group->id, " has a row of a column it does not have"));
    }
    writes->SingleDelete(Family::kRows, EncodeRowKey(row.key));
  }
  // Late rows get chunks of their own, so that the others still follow one another.
  const auto fresh = std::find_if(rows.begin(), rows.end(), [group](const Row& row) {
    return row.key.time_unix_ns > group->sealed_until_unix_ns;
  });
  const auto late = static_cast<size_t>(fresh - rows.begin());
  ChunkWriter writer(group, writes);
  WriteChunks(absl::MakeConstSpan(rows).subspan(0, late), &writer);
  WriteChunks(absl::MakeConstSpan(rows).subspan(late), &writer);
  writes->Put(Family::kGroupStats, GroupIdKey(group->id), EncodeGroupStats(group->ToStats()));
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
