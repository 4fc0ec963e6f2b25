// Reading the samples of series, wherever they lie: in chunks, or in rows that are in no chunk yet.
//
// Thread-safety: none; one thread at a time. It sees the database as of when it was made; find the group in
// the catalogue after that, so that its longest chunk is no shorter than those seen.
// Ownership: must not outlive its database. Errors: DataLoss, naming group and column.
#ifndef FLEETMARK_COLLECTOR_STORE_SAMPLE_READER_H_
#define FLEETMARK_COLLECTOR_STORE_SAMPLE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "collector/store/chunk_codec/column_codec.h"
#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/series_catalog.h"

namespace fleetmark::collector {

// All of the same size, but those that were not asked for.
struct SampleColumns {
  std::vector<int64_t> times;
  std::vector<double> values;
  std::vector<UlidBytes> runs;
  std::vector<double> spreads;

  void Clear();
};

class SampleReader {
 public:
  enum Want { kValues, kAll };

  explicit SampleReader(const Database& db);

  // The samples of [from, to), ascending in time. Replaces what `out` holds.
  absl::Status Read(const Group& group, uint16_t column, int64_t from_unix_ns, int64_t to_unix_ns, Want want,
                    SampleColumns* out);
  // The newest `count` before `to`, ascending.
  absl::Status ReadLast(const Group& group, uint16_t column, int64_t to_unix_ns, size_t count,
                        SampleColumns* out);

  // The cells of one run, ascending in column; empty when there is no such row.
  absl::Status ReadRow(const Group& group, int64_t time_unix_ns, const UlidBytes& run,
                       std::vector<RowCell>* cells);

 private:
  absl::Status AppendChunks(const Group& group, uint16_t column, int64_t from, int64_t to, Want want,
                            SampleColumns* out);
  absl::Status AppendChunk(const Group& group, uint16_t column, const ChunkPlace& place, int64_t from,
                           int64_t to, Want want, SampleColumns* out);
  absl::Status AppendRows(const Group& group, uint16_t column, int64_t from, int64_t to, Want want,
                          SampleColumns* out);
  absl::Status ReadTimes(const Group& group, const ChunkPlace& place);
  absl::Status ReadRuns(const Group& group, const ChunkPlace& place);
  // False when the chunk has no such column.
  absl::StatusOr<bool> ReadValues(const Group& group, ColumnKind kind, uint16_t column,
                                  const ChunkPlace& place, Cursor* cursor, ValueColumn* out);
  absl::Status ReadCells(const Group& group, const ChunkPlace& place, uint32_t row,
                         std::vector<RowCell>* cells);

  Snapshot snapshot_;
  Cursor values_;
  Cursor times_;
  Cursor others_;
  Cursor rows_;
  // The chunk at hand: its times and runs serve all columns.
  struct {
    uint32_t group = 0;
    ChunkPlace place;
    bool valid = false;
    bool has_runs = false;
    std::vector<int64_t> times;
    std::string runs;
  } chunk_;
  ValueColumn column_;
  ValueColumn spread_;
  std::vector<RowCell> cells_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SAMPLE_READER_H_
