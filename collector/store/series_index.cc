#include "collector/store/series_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/nodes.h"
#include "collector/store/sealing.h"
#include "collector/store/tiers.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxColumns = 16'384;  // of a group

absl::Status Malformed(const char* family) {
  return absl::DataLossError(absl::StrCat("a key of ", family, " is malformed"));
}

Group ToGroup(uint32_t id, GroupRecord record, SeriesCatalog* catalog) {
  Group group;
  group.id = id;
  group.key = std::make_shared<const GroupKey>(std::move(record.key));
  group.next_column = record.next_column;
  group.columns.reserve(record.columns.size());
  for (GroupRecord::Column& column : record.columns) {
    Group::Column& to = group.columns.emplace_back();
    to.key = catalog->Intern(std::move(column.key));
    to.series_id = column.series_id;
    to.number = column.number;
    to.better = column.better;
  }
  return group;
}

absl::Status AddStats(std::string_view value, Group* group) {
  FM_ASSIGN_OR_RETURN(const GroupStats stats, DecodeGroupStats(value));
  group->next_chunk = stats.next_chunk;
  group->longest_chunk_ns = stats.longest_chunk_ns;
  group->sealed_until_unix_ns = stats.sealed_until_unix_ns;
  for (const auto& [number, column] : stats.columns) {
    if (Group::Column* const to = group->FindColumn(number); to != nullptr) to->stats = column;
  }
  return absl::OkStatus();
}

// Both cursors go forward through the groups.
absl::Status AddRows(const std::string& prefix, Cursor* rows, Group* group) {
  std::vector<RowCell> cells;
  for (; rows->Valid() && rows->key().starts_with(prefix); rows->Next()) {
    const std::optional<RowKey> key = ParseRowKey(rows->key());
    if (!key.has_value()) return Malformed("rows");
    FM_RETURN_IF_ERROR(DecodeRow(rows->value(), &cells));
    for (const RowCell& cell : cells) {
      if (Group::Column* const column = group->FindColumn(cell.column); column != nullptr) {
        column->stats.Add(key->time_unix_ns, cell.value);
      }
    }
    ++group->rows;
  }
  return rows->status();
}

}  // namespace

absl::Status FillCatalog(const Database& db, SeriesCatalog* catalog) {
  Cursor groups = db.NewCursor(Family::kGroups);
  Cursor stats = db.NewCursor(Family::kGroupStats);
  Cursor rows = db.NewCursor(Family::kRows);
  Cursor dirty = db.NewCursor(Family::kDirtyGroups);
  stats.Seek({});
  rows.Seek({});
  dirty.Seek({});
  for (groups.Seek({}); groups.Valid(); groups.Next()) {
    const std::string key(groups.key());
    const std::optional<uint32_t> id = ParseGroupIdKey(key);
    if (!id.has_value()) return Malformed("groups");
    const std::string what = absl::StrCat("group ", *id);
    absl::StatusOr<GroupRecord> record = DecodeGroup(groups.value());
    if (!record.ok()) return Annotate(record.status(), what);
    Group group = ToGroup(*id, *std::move(record), catalog);
    while (stats.Valid() && stats.key() < key) stats.Next();
    if (stats.Valid() && stats.key() == key)
      FM_RETURN_IF_ERROR(Annotate(AddStats(stats.value(), &group), what));
    while (rows.Valid() && rows.key() < key) rows.Next();
    FM_RETURN_IF_ERROR(Annotate(AddRows(key, &rows, &group), what));
    while (dirty.Valid() && dirty.key() < key) dirty.Next();
    group.dirty_on_disk = dirty.Valid() && dirty.key() == key;
    for (Group::Column& column : group.columns) column.dirty = group.dirty_on_disk;
    catalog->Publish(std::move(group));
  }
  for (Cursor* cursor : {&groups, &stats, &rows, &dirty}) FM_RETURN_IF_ERROR(cursor->status());
  return absl::OkStatus();
}

v1::Series ToSeries(const SeriesPlace& place) {
  v1::Series series;
  series.set_series_id(place->series_id);
  *series.mutable_key() = SeriesKeyFrom(*place.group->key, *place->key);
  series.set_better(place->better);
  series.set_samples(place->stats.samples);
  series.set_first_unix_ns(place->stats.first_unix_ns);
  series.set_last_unix_ns(place->stats.last_unix_ns);
  series.set_last_value(place->stats.last_value);
  return series;
}

absl::StatusOr<std::vector<v1::Series>> ListSeries(const Database& db, const SeriesCatalog& catalog,
                                                   const v1::Selector& selector, const Page& page,
                                                   std::string* next_token) {
  FM_ASSIGN_OR_RETURN(const std::string after, DecodePageToken(KeyRange{}, page.token));
  next_token->clear();  // which may be page.token itself
  FM_ASSIGN_OR_RETURN(const SeriesMatcher matcher, SeriesMatcher::Make(db, selector));
  std::vector<LabelMatcher> matchers;
  const auto want = [&matchers](const std::string& label, const std::string& value) {
    if (!value.empty()) matchers.push_back({label, LabelMatcher::Op::kEqual, value});
  };
  want("node", selector.node());
  want("benchmark", selector.benchmark());
  want("metric", selector.metric());
  FM_ASSIGN_OR_RETURN(const std::vector<uint64_t> ids, catalog.Select(matchers));
  std::vector<v1::Series> series;
  if (page.limit == 0) return series;
  const std::optional<uint64_t> last = ParseSeriesIdKey(after);
  auto it = last.has_value() ? std::upper_bound(ids.begin(), ids.end(), *last) : ids.begin();
  for (; it != ids.end(); ++it) {
    const std::optional<SeriesPlace> place = catalog.FindSeries(*it);
    if (!place.has_value()) continue;
    v1::Series one = ToSeries(*place);
    if (!matcher.Matches(one.key())) continue;
    if (series.size() == page.limit) {
      *next_token = EncodePageToken(SeriesIdKey(series.back().series_id()));
      break;
    }
    series.push_back(std::move(one));
  }
  return series;
}

absl::StatusOr<GroupWriter::Staged*> GroupWriter::Stage(const std::string& node, const v1::Run& run,
                                                        WriteSet* writes) {
  const GroupKey key = GroupKeyOf(node, run);
  std::unique_ptr<Staged>& staged = staged_[GroupText(key)];
  if (staged != nullptr) return staged.get();
  auto made = std::make_unique<Staged>();
  if (const GroupPtr known = catalog_.Find(GroupText(key)); known != nullptr) {
    made->group = *known;
    if (ShouldSeal(made->group)) FM_RETURN_IF_ERROR(SealGroup(db_, &made->group, writes));
  } else {
    made->group.id = next_group_++;
    made->group.key = std::make_shared<const GroupKey>(key);
  }
  std::unique_ptr<uint64_t>& series = node_series_[node];
  if (series == nullptr) series = std::make_unique<uint64_t>(catalog_.SeriesOfNode(node));
  made->node_series = series.get();
  staged = std::move(made);
  return staged.get();
}

Group::Column* GroupWriter::FindColumn(Staged* staged, const v1::Metric& metric, size_t hint) {
  std::vector<Group::Column>& columns = staged->group.columns;
  if (hint < columns.size() && IsOfColumn(metric, *columns[hint].key)) return &columns[hint];
  if (!staged->by_key.has_value()) {
    staged->by_key.emplace();
    for (const Group::Column& column : columns) staged->by_key->emplace(*column.key, column.number);
  }
  const auto it = staged->by_key->find(ColumnKeyOf(metric));
  return it == staged->by_key->end() ? nullptr : staged->group.FindColumn(it->second);
}

Group::Column* GroupWriter::FindOrAddColumn(Staged* staged, const v1::Metric& metric, size_t hint,
                                            Counters* counters) {
  if (Group::Column* const known = FindColumn(staged, metric, hint); known != nullptr) return known;
  Group& group = staged->group;
  if (counters->series >= limits_.series || group.next_column >= kMaxColumns) return nullptr;
  if (*staged->node_series >= limits_.series_per_node) return nullptr;
  Group::Column& column = group.columns.emplace_back();
  column.key = catalog_.Intern(ColumnKeyOf(metric));
  column.series_id = counters->next_series_id++;
  column.number = group.next_column++;
  column.better = metric.better();
  ++counters->series;
  ++*staged->node_series;
  staged->columns_changed = true;
  staged->by_key->emplace(*column.key, column.number);  // which the search has made
  return &column;
}

absl::StatusOr<GroupWriter::Added> GroupWriter::AddRun(const std::string& node, const RowKey& key,
                                                       const v1::Run& run, WriteSet* writes,
                                                       Counters* counters) {
  Added added;
  if (run.metrics().empty()) return added;
  FM_ASSIGN_OR_RETURN(Staged* const staged, Stage(node, run, writes));
  Group& group = staged->group;
  std::vector<RowCell> cells;
  cells.reserve(static_cast<size_t>(run.metrics().size()));
  size_t hint = 0;
  added.complete = true;
  for (const v1::Metric& metric : run.metrics()) {
    Group::Column* const column = FindOrAddColumn(staged, metric, hint, counters);
    if (column == nullptr) {
      ++added.over_limit;
      if (*staged->node_series >= limits_.series_per_node) ++added.over_node_limit;
      added.complete = false;
      continue;
    }
    hint = static_cast<size_t>(column - group.columns.data()) + 1;
    if (column->better != metric.better()) added.complete = false;
    if (!cells.empty() && column->number < cells.back().column) added.complete = false;
    cells.push_back({column->number, metric.value(), metric.relative_spread(), metric.repetitions()});
  }
  if (cells.empty()) return added;
  std::sort(cells.begin(), cells.end(),
            [](const RowCell& a, const RowCell& b) { return a.column < b.column; });
  for (size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].column == cells[i - 1].column) {
      return absl::InvalidArgumentError("the run has two values for one series");
    }
  }
  const SeriesStats& before = group.FindColumn(cells.front().column)->stats;
  added.late = before.samples > 0 && key.time_unix_ns < before.last_unix_ns;
  for (const RowCell& cell : cells) {
    Group::Column& column = *group.FindColumn(cell.column);
    column.stats.Add(key.time_unix_ns, cell.value);
    column.dirty = true;
    touched_.push_back(column.series_id);
  }
  RowKey row = key;
  row.group = group.id;
  writes->Put(Family::kRows, EncodeRowKey(row), EncodeRow(cells));
  ++group.rows;
  staged->got_samples = true;
  if (const int64_t day = DayOf(key.time_unix_ns); day != group.last_day) {
    writes->Put(Family::kTierDays, EncodeDayKey({group.id, day}), EncodeBytes(""));
    group.last_day = day;
  }
  added.samples = cells.size();
  return added;
}

std::vector<uint64_t> GroupWriter::Finish(WriteSet* writes) {
  for (auto& [text, staged] : staged_) {
    Group& group = staged->group;
    if (staged->columns_changed)
      writes->Put(Family::kGroups, GroupIdKey(group.id), EncodeGroup(group.ToRecord()));
    if (staged->got_samples && !group.dirty_on_disk) {
      writes->Put(Family::kDirtyGroups, GroupIdKey(group.id), EncodeBytes(""));
      group.dirty_on_disk = true;
    }
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  return touched_;
}

void GroupWriter::PublishLengths() const {
  for (const auto& [text, staged] : staged_) {
    const GroupPtr known = catalog_.Get(staged->group.id);
    if (known == nullptr || known->longest_chunk_ns >= staged->group.longest_chunk_ns) continue;
    Group longer = *known;
    longer.longest_chunk_ns = staged->group.longest_chunk_ns;
    catalog_.Publish(std::move(longer));
  }
}

void GroupWriter::Publish() {
  for (auto& [text, staged] : staged_) {
    catalog_.Publish(std::move(staged->group));
  }
  staged_.clear();
}

}  // namespace fleetmark::collector
