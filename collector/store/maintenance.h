// What the store does by itself from time to time: making tiers, and dropping what is older than it is to be
// kept. Each step is bounded and one write set, so that writers wait only shortly and a crash costs nothing.
//
// Thread-safety: part of the one writer's turn. Errors: DataLoss for what can't be read.
#ifndef FLEETMARK_COLLECTOR_STORE_MAINTENANCE_H_
#define FLEETMARK_COLLECTOR_STORE_MAINTENANCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/series_catalog.h"
#include "collector/store/store.h"
#include "collector/store/values.h"

namespace fleetmark::collector {

// The times before which each kind is dropped; INT64_MIN: nothing is.
struct Cutoffs {
  int64_t raw = INT64_MIN;
  int64_t hourly = INT64_MIN;
  int64_t daily = INT64_MIN;
  int64_t runs = INT64_MIN;
  int64_t events = INT64_MIN;
  int64_t series = INT64_MIN;
};
Cutoffs CutoffsAt(const Store::Retention& retention, int64_t now_unix_ns);

class Maintenance {
 public:
  Maintenance(const Database& db, SeriesCatalog* catalog) : db_(db), catalog_(*catalog) {}

  // Each goes on at the key `from` and moves it, so that no step passes what the ones before have deleted.
  // True when there may be more.
  //
  // Makes the tiers of at most `limit` days of groups that ended before `ended_unix_ns` and have new samples.
  absl::StatusOr<bool> MakeTiers(int64_t ended_unix_ns, size_t limit, std::string* from, WriteSet* writes);
  absl::StatusOr<bool> DropRuns(int64_t before, size_t limit, std::string* from, WriteSet* writes,
                                Counters* counters);
  absl::StatusOr<bool> DropEvents(int64_t before, size_t limit, std::string* from, WriteSet* writes);

  // Seals the group if it has been silent since `silent_since`, drops its old chunks and summaries, and its
  // series that got nothing for too long.
  absl::Status TidyGroup(const GroupPtr& group, const Cutoffs& cutoffs, int64_t silent_since,
                         WriteSet* writes, Counters* counters);

  // Before the write, and after it has succeeded.
  void PublishLengths();
  void Publish();
  const MaintenanceResult& result() const { return result_; }

 private:
  absl::Status MakeDay(const DayKey& day, WriteSet* writes);
  absl::Status MergeDaily(const Group& group, const Group::Column& column, int64_t day,
                          const std::vector<TierSummary>& daily, WriteSet* writes);
  absl::Status DropChunks(const Group& group, int64_t before, WriteSet* writes);
  absl::Status DropTier(const Group& group, Tier tier, int64_t before, WriteSet* writes);
  absl::Status DropSeries(Group* group, int64_t before, WriteSet* writes, Counters* counters);
  absl::Status DropPrefix(Family family, const std::string& prefix, WriteSet* writes);

  const Database& db_;
  SeriesCatalog& catalog_;
  MaintenanceResult result_;
  std::vector<Group> changed_;
  std::map<std::string, std::vector<TierSummary>> daily_;  // as this write set makes them
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_MAINTENANCE_H_
