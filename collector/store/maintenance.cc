#include "collector/store/maintenance.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "collector/store/chunk_codec/column_codec.h"
#include "collector/store/keys.h"
#include "collector/store/sample_reader.h"
#include "collector/store/sealing.h"
#include "collector/store/tiers.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr ColumnKind kOfColumns[] = {ColumnKind::kValues, ColumnKind::kSpreads, ColumnKind::kRepetitions};

int64_t Before(int64_t now, absl::Duration kept) {
  if (kept >= absl::Hours(24) * 365 * 200) return INT64_MIN;
  return now - absl::ToInt64Nanoseconds(kept);
}

absl::Status Malformed(const char* what) {
  return absl::DataLossError(std::string("a key of ") + what + " is malformed");
}

std::string TierPrefix(const Group& group, Tier tier, uint16_t column) {
  std::string key = EncodeTierKey({group.id, static_cast<uint8_t>(tier), column, 0});
  key.resize(key.size() - sizeof(int64_t));
  return key;
}

}  // namespace

Cutoffs CutoffsAt(const Store::Retention& retention, int64_t now_unix_ns) {
  Cutoffs cutoffs;
  cutoffs.raw = Before(now_unix_ns, retention.raw);
  cutoffs.hourly = Before(now_unix_ns, retention.hourly);
  cutoffs.daily = Before(now_unix_ns, retention.daily);
  cutoffs.runs = Before(now_unix_ns, retention.runs);
  cutoffs.events = Before(now_unix_ns, retention.events);
  // A series' samples are gone before the series is.
  cutoffs.series = std::min(Before(now_unix_ns, retention.series), cutoffs.raw);
  return cutoffs;
}

absl::StatusOr<bool> Maintenance::MakeTiers(int64_t ended_unix_ns, size_t limit, std::string* from,
                                            WriteSet* writes) {
  size_t made = 0;
  Cursor cursor = db_.NewCursor(Family::kTierDays);
  // The newest days of each group wait until they have ended, so they are passed over.
  for (cursor.Seek(*from); cursor.Valid() && made < limit; cursor.Next()) {
    const std::optional<DayKey> day = ParseDayKey(cursor.key());
    if (!day.has_value()) return Malformed("tier_days");
    if ((day->day + 1) * kDayNs > ended_unix_ns) continue;
    FM_RETURN_IF_ERROR(MakeDay(*day, writes));
    writes->Delete(Family::kTierDays, cursor.key());
    *from = cursor.key();
    ++made;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  result_.days_summarised += made;
  return made == limit;
}

absl::Status Maintenance::MakeDay(const DayKey& day, WriteSet* writes) {
  SampleReader reader(db_);
  const GroupPtr group = catalog_.Get(day.group);
  if (group == nullptr) return absl::OkStatus();
  SampleColumns samples;
  const int64_t begin = day.day * kDayNs;
  for (const Group::Column& column : group->columns) {
    FM_RETURN_IF_ERROR(
        reader.Read(*group, column.number, begin, begin + kDayNs, SampleReader::kValues, &samples));
    if (samples.times.empty()) continue;
    writes->Put(Family::kTiers,
                EncodeTierKey({group->id, static_cast<uint8_t>(Tier::kHourly), column.number, begin}),
                EncodeSummaries(Summarise(Tier::kHourly, samples.times, samples.values)));
    FM_RETURN_IF_ERROR(
        MergeDaily(*group, column, begin, Summarise(Tier::kDaily, samples.times, samples.values), writes));
  }
  // So that a later sample of that day marks it again.
  if (group->last_day == day.day) changed_.emplace_back(*group).last_day = INT64_MIN;
  return absl::OkStatus();
}

absl::Status Maintenance::MergeDaily(const Group& group, const Group::Column& column, int64_t day,
                                     const std::vector<TierSummary>& daily, WriteSet* writes) {
  const std::string key = EncodeTierKey(
      {group.id, static_cast<uint8_t>(Tier::kDaily), column.number, WindowOf(Tier::kDaily, day)});
  std::vector<TierSummary> window;
  if (const auto staged = daily_.find(key); staged != daily_.end()) {
    window = staged->second;
  } else {
    FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db_.Get(Family::kTiers, key));
    if (value.has_value()) FM_RETURN_IF_ERROR(DecodeSummaries(*value, &window));
  }
  const auto place =
      std::lower_bound(window.begin(), window.end(), day,
                       [](const TierSummary& s, int64_t begin) { return s.begin_unix_ns < begin; });
  if (place != window.end() && place->begin_unix_ns == day) {
    *place = daily.front();
  } else {
    window.insert(place, daily.front());
  }
  writes->Put(Family::kTiers, key, EncodeSummaries(window));
  daily_[key] = std::move(window);
  return absl::OkStatus();
}

absl::Status Maintenance::TidyGroup(const GroupPtr& group, const Cutoffs& cutoffs, int64_t silent_since,
                                    WriteSet* writes, Counters* counters) {
  int64_t newest = INT64_MIN;
  int64_t oldest = INT64_MAX;
  for (const Group::Column& column : group->columns) {
    if (column.stats.samples == 0) continue;
    newest = std::max(newest, column.stats.last_unix_ns);
    oldest = std::min(oldest, column.stats.first_unix_ns);
  }
  if (group->rows > 0 && newest < silent_since) {
    // What is sealed now is looked at in the next pass.
    return SealGroup(db_, &changed_.emplace_back(*group), writes);
  }
  if (oldest < cutoffs.raw) FM_RETURN_IF_ERROR(DropChunks(*group, cutoffs.raw, writes));
  if (oldest < cutoffs.hourly) FM_RETURN_IF_ERROR(DropTier(*group, Tier::kHourly, cutoffs.hourly, writes));
  if (oldest < cutoffs.daily) FM_RETURN_IF_ERROR(DropTier(*group, Tier::kDaily, cutoffs.daily, writes));
  const bool any_dead = group->rows == 0 && std::any_of(group->columns.begin(), group->columns.end(),
                                                        [&](const Group::Column& c) {
                                                          return c.stats.last_unix_ns < cutoffs.series;
                                                        });
  if (!any_dead) return absl::OkStatus();
  return DropSeries(&changed_.emplace_back(*group), cutoffs.series, writes, counters);
}

absl::Status Maintenance::DropChunks(const Group& group, int64_t before, WriteSet* writes) {
  std::set<ChunkPlace> old;
  const std::string prefix = ChunkColumnPrefix(group.id, ColumnKind::kTimes, 0);
  Cursor cursor = db_.NewCursor(Family::kChunks);
  std::vector<int64_t> times;
  for (cursor.Seek(prefix); cursor.Valid() && cursor.key().starts_with(prefix); cursor.Next()) {
    const std::optional<ChunkKey> key = ParseChunkKey(cursor.key());
    if (!key.has_value()) return Malformed("chunks");
    if (key->place.first_unix_ns >= before) break;
    FM_RETURN_IF_ERROR(DecodeTimes(cursor.value(), &times));
    if (times.back() >= before) continue;
    old.insert(key->place);
    ++result_.chunks_dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  if (old.empty()) return absl::OkStatus();
  // The group's other columns, those of removed series too.
  const std::string all = GroupIdKey(group.id);
  for (cursor.Seek(all); cursor.Valid() && cursor.key().starts_with(all);) {
    const std::optional<ChunkKey> key = ParseChunkKey(cursor.key());
    if (!key.has_value()) return Malformed("chunks");
    if (key->place > *old.rbegin()) {
      cursor.Seek(PrefixEnd(ChunkColumnPrefix(group.id, key->kind, key->column)));
      continue;
    }
    if (old.contains(key->place)) writes->Delete(Family::kChunks, cursor.key());
    cursor.Next();
  }
  return cursor.status();
}

absl::Status Maintenance::DropTier(const Group& group, Tier tier, int64_t before, WriteSet* writes) {
  Cursor cursor = db_.NewCursor(Family::kTiers);
  for (const Group::Column& column : group.columns) {
    const std::string prefix = TierPrefix(group, tier, column.number);
    for (cursor.Seek(prefix); cursor.Valid() && cursor.key().starts_with(prefix); cursor.Next()) {
      const std::optional<TierKey> key = ParseTierKey(cursor.key());
      if (!key.has_value()) return Malformed("tiers");
      if (key->window_unix_ns + WindowNs(tier) > before) break;
      writes->Delete(Family::kTiers, cursor.key());
    }
    FM_RETURN_IF_ERROR(cursor.status());
  }
  return absl::OkStatus();
}

absl::Status Maintenance::DropPrefix(Family family, const std::string& prefix, WriteSet* writes) {
  Cursor cursor = db_.NewCursor(family);
  for (cursor.Seek(prefix); cursor.Valid() && cursor.key().starts_with(prefix); cursor.Next()) {
    writes->Delete(family, cursor.key());
  }
  return cursor.status();
}

absl::Status Maintenance::DropSeries(Group* group, int64_t before, WriteSet* writes, Counters* counters) {
  std::vector<Group::Column> kept;
  for (Group::Column& column : group->columns) {
    if (column.stats.last_unix_ns >= before) {
      kept.push_back(std::move(column));
      continue;
    }
    for (const ColumnKind kind : kOfColumns) {
      FM_RETURN_IF_ERROR(
          DropPrefix(Family::kChunks, ChunkColumnPrefix(group->id, kind, column.number), writes));
    }
    for (const Tier tier : {Tier::kHourly, Tier::kDaily}) {
      FM_RETURN_IF_ERROR(DropPrefix(Family::kTiers, TierPrefix(*group, tier, column.number), writes));
    }
    writes->Delete(Family::kDetectorState, SeriesIdKey(column.series_id));
    --counters->series;
    ++result_.series_dropped;
  }
  group->columns = std::move(kept);
  const std::string key = GroupIdKey(group->id);
  if (!group->columns.empty()) {
    writes->Put(Family::kGroups, key, EncodeGroup(group->ToRecord()));
    writes->Put(Family::kGroupStats, key, EncodeGroupStats(group->ToStats()));
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(DropPrefix(Family::kChunks, key, writes));
  FM_RETURN_IF_ERROR(DropPrefix(Family::kTierDays, key, writes));
  for (const Family family : {Family::kGroups, Family::kGroupStats, Family::kDirtyGroups}) {
    writes->Delete(family, key);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Maintenance::DropRuns(int64_t before, size_t limit, std::string* from, WriteSet* writes,
                                           Counters* counters) {
  size_t dropped = 0;
  Cursor cursor = db_.NewCursor(Family::kRunsByTime);
  for (cursor.Seek(*from); cursor.Valid() && dropped < limit; cursor.Next()) {
    const std::optional<TimeKey> key = ParseTimeKey(cursor.key());
    if (!key.has_value()) return Malformed("runs_by_time");
    if (key->time_unix_ns >= before) break;
    FM_ASSIGN_OR_RETURN(const RunSummary summary, DecodeRunSummary(cursor.value()));
    writes->Delete(Family::kRunsByTime, cursor.key());
    writes->Delete(Family::kRuns, EncodeNodeTimeKey(summary.node, *key));
    writes->Delete(Family::kRunIndex, UlidKey(key->id));
    writes->Delete(Family::kRunLogs, UlidKey(key->id));
    --counters->runs;
    if (const auto outcome = static_cast<size_t>(summary.outcome);
        outcome < counters->runs_by_outcome.size()) {
      --counters->runs_by_outcome[outcome];
    }
    *from = cursor.key();
    ++dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  result_.runs_dropped += dropped;
  return dropped == limit;
}

absl::StatusOr<bool> Maintenance::DropEvents(int64_t before, size_t limit, std::string* from,
                                             WriteSet* writes) {
  size_t dropped = 0;
  Cursor cursor = db_.NewCursor(Family::kEvents);
  for (cursor.Seek(*from); cursor.Valid() && dropped < limit; cursor.Next()) {
    const std::optional<TimeKey> key = ParseTimeKey(cursor.key());
    if (!key.has_value()) return Malformed("events");
    if (key->time_unix_ns >= before) break;
    v1::Event event;
    FM_RETURN_IF_ERROR(DecodeMessage(cursor.value(), &event));
    writes->Delete(Family::kEvents, cursor.key());
    if (!event.node().empty()) writes->Delete(Family::kEventsByNode, EncodeNodeTimeKey(event.node(), *key));
    *from = cursor.key();
    ++dropped;
  }
  FM_RETURN_IF_ERROR(cursor.status());
  result_.events_dropped += dropped;
  return dropped == limit;
}

void Maintenance::PublishLengths() {
  for (const Group& group : changed_) {
    const GroupPtr known = catalog_.Get(group.id);
    if (known == nullptr || known->longest_chunk_ns >= group.longest_chunk_ns) continue;
    Group longer = *known;
    longer.longest_chunk_ns = group.longest_chunk_ns;
    catalog_.Publish(std::move(longer));
  }
}

void Maintenance::Publish() {
  for (Group& group : changed_) catalog_.Publish(std::move(group));
  changed_.clear();
}

}  // namespace fleetmark::collector
