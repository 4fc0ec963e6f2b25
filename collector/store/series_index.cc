#include "collector/store/series_index.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/nodes.h"
#include "common/base/status.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

absl::Status AddStats(const Database& db, v1::Series* series) {
  FM_ASSIGN_OR_RETURN(const SeriesStats stats, ReadSeriesStats(db, series->series_id()));
  series->set_samples(stats.samples);
  series->set_first_unix_ns(stats.first_unix_ns);
  series->set_last_unix_ns(stats.last_unix_ns);
  series->set_last_value(stats.last_value);
  return absl::OkStatus();
}

// The ids of a node's series, ascending: a series' canonical text begins with its node.
absl::StatusOr<std::vector<uint64_t>> IdsOfNode(const Database& db, const std::string& node) {
  const std::string prefix = NodePrefix(node);
  std::vector<uint64_t> ids;
  Cursor cursor = db.NewCursor(Family::kSeriesIndex);
  for (cursor.Seek(prefix); cursor.Valid() && cursor.key().starts_with(prefix); cursor.Next()) {
    FM_ASSIGN_OR_RETURN(const uint64_t id, DecodeNumber(cursor.value()));
    ids.push_back(id);
  }
  FM_RETURN_IF_ERROR(cursor.status());
  std::sort(ids.begin(), ids.end());
  return ids;
}

absl::StatusOr<std::vector<v1::Series>> ListSeriesOfNode(const Database& db, const SeriesMatcher& matcher,
                                                         const std::string& node, const Page& page,
                                                         std::string* next_token) {
  FM_ASSIGN_OR_RETURN(const std::string after, DecodePageToken(KeyRange{}, page.token));
  next_token->clear();  // which may be page.token itself
  FM_ASSIGN_OR_RETURN(const std::vector<uint64_t> ids, IdsOfNode(db, node));
  std::vector<v1::Series> series;
  if (page.limit == 0) return series;
  for (const uint64_t id : ids) {
    if (!after.empty() && SeriesIdKey(id) <= after) continue;
    FM_ASSIGN_OR_RETURN(v1::Series one, ReadSeries(db, id));
    if (!matcher.Matches(one.key())) continue;
    if (series.size() == page.limit) {
      *next_token = EncodePageToken(SeriesIdKey(series.back().series_id()));
      break;
    }
    series.push_back(std::move(one));
  }
  return series;
}

}  // namespace

absl::StatusOr<v1::Series> ReadSeries(const Database& db, uint64_t series_id) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      db.Get(Family::kSeries, SeriesIdKey(series_id)));
  if (!value.has_value()) return absl::NotFoundError(absl::StrCat("series ", series_id, " is not known"));
  v1::Series series;
  FM_RETURN_IF_ERROR(DecodeMessage(*value, &series));
  FM_RETURN_IF_ERROR(AddStats(db, &series));
  return series;
}

absl::StatusOr<SeriesStats> ReadSeriesStats(const Database& db, uint64_t series_id) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                      db.Get(Family::kSeriesStats, SeriesIdKey(series_id)));
  if (!value.has_value()) return SeriesStats();
  return DecodeSeriesStats(*value);
}

absl::StatusOr<std::vector<v1::Series>> ListSeries(const Database& db, const v1::Selector& selector,
                                                   const Page& page, std::string* next_token) {
  FM_ASSIGN_OR_RETURN(const SeriesMatcher matcher, SeriesMatcher::Make(db, selector));
  if (!selector.node().empty()) return ListSeriesOfNode(db, matcher, selector.node(), page, next_token);
  return ListPage<v1::Series>(
      db, Family::kSeries, KeyRange{}, page, next_token,
      [&](std::string_view, std::string_view value) -> absl::StatusOr<std::optional<v1::Series>> {
        v1::Series series;
        FM_RETURN_IF_ERROR(DecodeMessage(value, &series));
        if (!matcher.Matches(series.key())) return std::nullopt;
        FM_RETURN_IF_ERROR(AddStats(db, &series));
        return series;
      });
}

std::optional<SeriesCache::Entry> SeriesCache::Find(const std::string& canonical_text) const {
  for (const auto* generation : {&young_, &old_}) {
    if (const auto it = generation->find(canonical_text); it != generation->end()) return it->second;
  }
  return std::nullopt;
}

void SeriesCache::Put(const std::string& canonical_text, const Entry& entry) {
  if (young_.size() >= kGeneration && !young_.contains(canonical_text)) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_[canonical_text] = entry;
}

absl::StatusOr<std::optional<SeriesCache::Entry>> SeriesWriter::Find(
    const std::string& canonical_text) const {
  if (const auto entry = cache_->Find(canonical_text); entry.has_value()) return entry;
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> id_value,
                      db_.Get(Family::kSeriesIndex, canonical_text));
  if (!id_value.has_value()) return std::nullopt;
  SeriesCache::Entry entry;
  FM_ASSIGN_OR_RETURN(entry.id, DecodeNumber(*id_value));
  FM_ASSIGN_OR_RETURN(entry.stats, ReadSeriesStats(db_, entry.id));
  return entry;
}

absl::StatusOr<std::optional<uint64_t>> SeriesWriter::Add(const v1::SeriesKey& key, v1::Better better,
                                                          int64_t time_unix_ns, double value,
                                                          WriteSet* writes, Counters* counters) {
  std::string text = CanonicalText(key);
  auto it = touched_.find(text);
  if (it == touched_.end()) {
    FM_ASSIGN_OR_RETURN(std::optional<SeriesCache::Entry> entry, Find(text));
    if (!entry.has_value()) {
      if (counters->series >= max_series_) return std::nullopt;
      entry.emplace().id = counters->next_series_id++;
      ++counters->series;
      v1::Series series;
      series.set_series_id(entry->id);
      *series.mutable_key() = key;
      series.set_better(better);
      writes->Put(Family::kSeries, SeriesIdKey(entry->id), EncodeMessage(series));
      writes->Put(Family::kSeriesIndex, text, EncodeNumber(entry->id));
    }
    it = touched_.emplace(std::move(text), *entry).first;
  }
  it->second.stats.Add(time_unix_ns, value);
  return it->second.id;
}

std::vector<uint64_t> SeriesWriter::Finish(WriteSet* writes) const {
  std::vector<uint64_t> ids;
  ids.reserve(touched_.size());
  for (const auto& [text, entry] : touched_) {
    const std::string key = SeriesIdKey(entry.id);
    writes->Put(Family::kSeriesStats, key, EncodeSeriesStats(entry.stats));
    writes->Put(Family::kDirty, key, EncodeBytes(""));
    ids.push_back(entry.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void SeriesWriter::Publish() const {
  for (const auto& [text, entry] : touched_) cache_->Put(text, entry);
}

}  // namespace fleetmark::collector
