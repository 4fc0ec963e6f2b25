// Series: from canonical text to id, what each is, and its running totals.
//
// Thread-safety: reading from any thread; a SeriesWriter belongs to the one writer.
#ifndef FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_
#define FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "collector/store/database.h"
#include "collector/store/store.h"
#include "collector/store/values.h"

namespace fleetmark::collector {

absl::StatusOr<v1::Series> ReadSeries(const Database& db, uint64_t series_id);
absl::StatusOr<SeriesStats> ReadSeriesStats(const Database& db, uint64_t series_id);
absl::StatusOr<std::vector<v1::Series>> ListSeries(const Database& db, const v1::Selector& selector,
                                                   const Page& page, std::string* next_token);

// Ids and totals of the series that got samples lately, so that a sample costs no read. Bounded: two
// generations of at most kGeneration series; a full young one becomes the old one, which is forgotten.
class SeriesCache {
 public:
  struct Entry {
    uint64_t id = 0;
    SeriesStats stats;
  };
  static constexpr size_t kGeneration = 50'000;

  std::optional<Entry> Find(const std::string& canonical_text) const;
  void Put(const std::string& canonical_text, const Entry& entry);

 private:
  absl::flat_hash_map<std::string, Entry> young_;
  absl::flat_hash_map<std::string, Entry> old_;
};

// Adds samples to series as part of one write set. What it learns enters the cache only by Publish, after
// the write has succeeded.
class SeriesWriter {
 public:
  SeriesWriter(const Database& db, SeriesCache* cache, uint64_t max_series)
      : db_(db), cache_(cache), max_series_(max_series) {}

  // The series' id, with the sample counted and a new series created; nothing when it would be new and
  // there are `max_series` already.
  absl::StatusOr<std::optional<uint64_t>> Add(const v1::SeriesKey& key, v1::Better better,
                                              int64_t time_unix_ns, double value, WriteSet* writes,
                                              Counters* counters);
  // Puts the totals and marks all that got samples as dirty. The ids, ascending.
  std::vector<uint64_t> Finish(WriteSet* writes) const;
  void Publish() const;

 private:
  absl::StatusOr<std::optional<SeriesCache::Entry>> Find(const std::string& canonical_text) const;

  const Database& db_;
  SeriesCache* const cache_;
  const uint64_t max_series_;
  absl::flat_hash_map<std::string, SeriesCache::Entry> touched_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_SERIES_INDEX_H_
