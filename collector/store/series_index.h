// Series as the store's readers and its writer see them: filling the catalogue, listings, and adding a run's
// metrics to groups as part of one commit.
//
// Thread-safety: reading from any thread; a GroupWriter belongs to the one writer.
#ifndef FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_
#define FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/series_catalog.h"
#include "collector/store/store_types.h"
#include "collector/store/values.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

// What the database knows of groups and series. Reads all rows, which are bounded by sealing.
absl::Status FillCatalog(const Database& db, SeriesCatalog* catalog);

v1::Series ToSeries(const SeriesPlace& place);
absl::StatusOr<std::vector<v1::Series>> ListSeries(const Database& db, const SeriesCatalog& catalog,
                                                   const v1::Selector& selector, const Page& page,
                                                   std::string* next_token);

// Adds runs' metrics to groups as part of one write set. Others see it only by Publish, after the write has
// succeeded.
class GroupWriter {
 public:
  struct Limits {
    uint64_t series = 0;
    uint64_t series_per_node = 0;
  };
  GroupWriter(const Database& db, SeriesCatalog* catalog, const Limits& limits)
      : db_(db), catalog_(*catalog), limits_(limits), next_group_(catalog->next_group()) {}

  struct Added {
    uint64_t samples = 0;
    // Samples of series that would be new where no more are taken, and of these, because of the node's share.
    uint64_t over_limit = 0;
    uint64_t over_node_limit = 0;
    bool late = false;      // the group has a newer run
    bool complete = false;  // the run's metrics can be made from its row again, in their order
  };
  // InvalidArgument when a series comes twice in the run.
  absl::StatusOr<Added> AddRun(const std::string& node, const RowKey& key, const v1::Run& run,
                               WriteSet* writes, Counters* counters);

  // Puts what is new about the groups and marks all that got samples as dirty. The series, ascending.
  std::vector<uint64_t> Finish(WriteSet* writes);
  // Before the write: readers must know how long a chunk is at the latest when they can see it.
  void PublishLengths() const;
  void Publish();

 private:
  struct Staged {
    Group group;
    uint64_t* node_series = nullptr;  // in node_series_
    bool columns_changed = false;
    bool got_samples = false;
    // Made when a column isn't where it was in the run before.
    std::optional<std::map<ColumnKey, uint16_t>> by_key;
  };

  absl::StatusOr<Staged*> Stage(const std::string& node, const v1::Run& run, WriteSet* writes);
  Group::Column* FindColumn(Staged* staged, const v1::Metric& metric, size_t hint);
  // Null when it would be new and there are too many.
  Group::Column* FindOrAddColumn(Staged* staged, const v1::Metric& metric, size_t hint, Counters* counters);

  const Database& db_;
  SeriesCatalog& catalog_;
  const Limits limits_;
  uint32_t next_group_;
  absl::flat_hash_map<std::string, std::unique_ptr<Staged>> staged_;         // by group text
  absl::flat_hash_map<std::string, std::unique_ptr<uint64_t>> node_series_;  // with this commit's new ones
  std::vector<uint64_t> touched_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_
