#include "collector/store/series_catalog.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "re2/re2.h"

namespace fleetmark::collector {
namespace {

struct GroupLabel {
  const char* name;
  std::string GroupKey::*field;
};
constexpr std::array<GroupLabel, 5> kGroupFields = {{{"node", &GroupKey::node},
                                                     {"benchmark", &GroupKey::benchmark},
                                                     {"plugin", &GroupKey::plugin},
                                                     {"plugin_version", &GroupKey::plugin_version},
                                                     {"params_digest", &GroupKey::params_digest}}};

std::optional<size_t> GroupFieldOf(const std::string& label) {
  for (size_t i = 0; i < kGroupFields.size(); ++i) {
    if (label == kGroupFields[i].name) return i;
  }
  return std::nullopt;
}

void Insert(uint32_t id, std::vector<uint32_t>* postings) {
  if (postings->empty() || postings->back() < id) {
    postings->push_back(id);
    return;
  }
  const auto it = std::lower_bound(postings->begin(), postings->end(), id);
  if (*it != id) postings->insert(it, id);
}

void Erase(uint32_t id, std::vector<uint32_t>* postings) {
  const auto it = std::lower_bound(postings->begin(), postings->end(), id);
  if (it != postings->end() && *it == id) postings->erase(it);
}

std::vector<uint32_t> Union(std::vector<const std::vector<uint32_t>*> lists) {
  std::vector<uint32_t> all;
  for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void Intersect(const std::vector<uint32_t>& with, std::optional<std::vector<uint32_t>>* set) {
  if (!set->has_value()) {
    *set = with;
    return;
  }
  std::vector<uint32_t> both;
  std::set_intersection((*set)->begin(), (*set)->end(), with.begin(), with.end(), std::back_inserter(both));
  *set = std::move(both);
}

using Predicate = std::function<bool(const std::string&)>;

absl::StatusOr<Predicate> PredicateOf(const LabelMatcher& matcher) {
  using Op = LabelMatcher::Op;
  const std::string& want = matcher.value;
  if (matcher.op == Op::kEqual) return Predicate([&want](const std::string& v) { return v == want; });
  if (matcher.op == Op::kNotEqual) return Predicate([&want](const std::string& v) { return v != want; });
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  const auto re = std::make_shared<RE2>(want, options);
  if (!re->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("label ", matcher.label, ": ", re->error()));
  }
  const bool wanted = matcher.op == Op::kRegex;
  return Predicate([re, wanted](const std::string& v) { return RE2::FullMatch(v, *re) == wanted; });
}

const std::string& ColumnLabel(const ColumnKey& key, const std::string& label) {
  static const std::string none;
  if (label == "metric") return key.metric;
  if (label == "unit") return key.unit;
  for (const auto& [name, value] : key.labels) {
    if (name == label) return value;
  }
  return none;
}

}  // namespace

const Group::Column* Group::FindColumn(uint16_t number) const {
  // Columns rarely go, so a column is nearly always at its number.
  if (number < columns.size() && columns[number].number == number) return &columns[number];
  const auto it = std::lower_bound(columns.begin(), columns.end(), number,
                                   [](const Column& column, uint16_t n) { return column.number < n; });
  return it != columns.end() && it->number == number ? &*it : nullptr;
}

Group::Column* Group::FindColumn(uint16_t number) {
  return const_cast<Column*>(std::as_const(*this).FindColumn(number));
}

GroupRecord Group::ToRecord() const {
  GroupRecord record{*key, next_column, {}};
  for (const Column& column : columns) {
    record.columns.push_back({column.number, column.series_id, column.better, *column.key});
  }
  return record;
}

GroupStats Group::ToStats() const {
  GroupStats stats{next_chunk, longest_chunk_ns, sealed_until_unix_ns, {}};
  for (const Column& column : columns) stats.columns.emplace_back(column.number, column.stats);
  return stats;
}

std::shared_ptr<const ColumnKey> SeriesCatalog::Intern(ColumnKey key) {
  MutexLock lock(mu_);
  ColumnEntry& entry = columns_[key];
  std::shared_ptr<const ColumnKey> shared = entry.key.lock();
  if (shared == nullptr) {
    shared = std::make_shared<const ColumnKey>(std::move(key));
    entry.key = shared;
  }
  return shared;
}

GroupPtr SeriesCatalog::Find(const std::string& group_text) const {
  MutexLock lock(mu_);
  const auto it = by_text_.find(group_text);
  return it == by_text_.end() ? nullptr : groups_.at(it->second);
}

GroupPtr SeriesCatalog::Get(uint32_t group) const {
  MutexLock lock(mu_);
  const auto it = groups_.find(group);
  return it == groups_.end() ? nullptr : it->second;
}

std::optional<SeriesPlace> SeriesCatalog::FindSeries(uint64_t series_id) const {
  MutexLock lock(mu_);
  const auto it = series_.find(series_id);
  if (it == series_.end()) return std::nullopt;
  return SeriesPlace{groups_.at(it->second.group), it->second.column};
}

void SeriesCatalog::Publish(Group group) {
  if (group.columns.empty()) return Remove(group.id);
  auto now = std::make_shared<const Group>(std::move(group));
  MutexLock lock(mu_);
  GroupPtr& place = groups_[now->id];
  const bool same = place != nullptr && place->columns.size() == now->columns.size() &&
                    place->next_column == now->next_column;
  if (!same) IndexLocked(place.get(), now.get());
  const auto is_dirty = [](const Group::Column& column) { return column.dirty; };
  if (std::any_of(now->columns.begin(), now->columns.end(), is_dirty)) {
    dirty_.insert(now->id);
  } else {
    dirty_.erase(now->id);
  }
  place = std::move(now);
}

void SeriesCatalog::Remove(uint32_t group) {
  MutexLock lock(mu_);
  const auto it = groups_.find(group);
  if (it == groups_.end()) return;
  IndexLocked(it->second.get(), nullptr);
  dirty_.erase(group);
  groups_.erase(it);
}

void SeriesCatalog::CountSeriesLocked(const Group& group, const Group::Column& column, int by) {
  const auto it = metrics_.try_emplace({group.key->benchmark, column.key->metric, column.key->unit}, 0).first;
  it->second += by;
  if (it->second == 0) metrics_.erase(it);
  const auto node = by_node_.try_emplace(group.key->node, 0).first;
  node->second += by;
  if (node->second == 0) by_node_.erase(node);
}

uint64_t SeriesCatalog::SeriesOfNode(const std::string& node) const {
  MutexLock lock(mu_);
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? 0 : it->second;
}

void SeriesCatalog::IndexLocked(const Group* before, const Group* now) {
  if (before != nullptr) {
    for (const Group::Column& column : before->columns) {
      if (now != nullptr && now->FindColumn(column.number) != nullptr) continue;
      series_.erase(column.series_id);
      CountSeriesLocked(*before, column, -1);
      const auto it = columns_.find(*column.key);
      if (it == columns_.end()) continue;
      Erase(before->id, &it->second.groups);
      if (it->second.groups.empty()) columns_.erase(it);
    }
  }
  if (now == nullptr || before == nullptr) {
    const Group& group = now != nullptr ? *now : *before;
    if (now != nullptr) {
      by_text_.emplace(GroupText(*group.key), group.id);
    } else {
      by_text_.erase(GroupText(*group.key));
    }
    for (size_t i = 0; i < kGroupFields.size(); ++i) {
      const std::string& value = (*group.key).*kGroupFields[i].field;
      if (now != nullptr) {
        Insert(group.id, &postings_[i][value]);
        continue;
      }
      const auto it = postings_[i].find(value);
      Erase(group.id, &it->second);
      if (it->second.empty()) postings_[i].erase(it);
    }
  }
  if (now == nullptr) return;
  next_group_ = std::max(next_group_, now->id + 1);
  for (const Group::Column& column : now->columns) {
    if (before != nullptr && before->FindColumn(column.number) != nullptr) continue;
    series_[column.series_id] = {now->id, column.number};
    next_series_ = std::max(next_series_, column.series_id + 1);
    CountSeriesLocked(*now, column, 1);
    ColumnEntry& entry = columns_[*column.key];
    entry.key = column.key;
    Insert(now->id, &entry.groups);
  }
}

absl::StatusOr<std::optional<SeriesCatalog::Postings>> SeriesCatalog::MatchGroupsLocked(
    absl::Span<const LabelMatcher> matchers) const {
  std::optional<Postings> groups;
  for (const LabelMatcher& matcher : matchers) {
    const std::optional<size_t> field = GroupFieldOf(matcher.label);
    if (!field.has_value()) continue;
    const auto& by_value = postings_[*field];
    if (matcher.op == LabelMatcher::Op::kEqual) {
      const auto it = by_value.find(matcher.value);
      Intersect(it == by_value.end() ? Postings() : it->second, &groups);
      continue;
    }
    FM_ASSIGN_OR_RETURN(const Predicate matches, PredicateOf(matcher));
    std::vector<const Postings*> lists;
    for (const auto& [value, postings] : by_value) {
      if (matches(value)) lists.push_back(&postings);
    }
    Intersect(Union(std::move(lists)), &groups);
  }
  return groups;
}

absl::StatusOr<std::vector<uint64_t>> SeriesCatalog::Select(absl::Span<const LabelMatcher> matchers) const {
  std::vector<std::pair<std::string, Predicate>> of_columns;
  for (const LabelMatcher& matcher : matchers) {
    FM_ASSIGN_OR_RETURN(Predicate matches, PredicateOf(matcher));
    if (!GroupFieldOf(matcher.label).has_value()) of_columns.emplace_back(matcher.label, std::move(matches));
  }
  MutexLock lock(mu_);
  FM_ASSIGN_OR_RETURN(std::optional<Postings> groups, MatchGroupsLocked(matchers));
  absl::flat_hash_set<const ColumnKey*> wanted;
  if (!of_columns.empty()) {
    std::vector<const Postings*> lists;
    for (const auto& [key, entry] : columns_) {
      const auto shared = entry.key.lock();
      const bool all = shared != nullptr &&
                       std::all_of(of_columns.begin(), of_columns.end(), [&key = key](const auto& matcher) {
                         return matcher.second(ColumnLabel(key, matcher.first));
                       });
      if (!all) continue;
      wanted.insert(shared.get());
      lists.push_back(&entry.groups);
    }
    Intersect(Union(std::move(lists)), &groups);
  }
  std::vector<uint64_t> ids;
  const auto add = [&](const Group& group) {
    for (const Group::Column& column : group.columns) {
      if (of_columns.empty() || wanted.contains(column.key.get())) ids.push_back(column.series_id);
    }
  };
  if (groups.has_value()) {
    for (const uint32_t id : *groups) add(*groups_.at(id));
  } else {
    for (const auto& [id, group] : groups_) add(*group);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::string> SeriesCatalog::LabelNames() const {
  std::set<std::string> names;
  MutexLock lock(mu_);
  if (groups_.empty()) return {};
  for (const GroupLabel& field : kGroupFields) names.insert(field.name);
  names.insert({"metric", "unit"});
  for (const auto& [key, entry] : columns_) {
    for (const auto& [name, value] : key.labels) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> SeriesCatalog::LabelValues(const std::string& label) const {
  std::set<std::string> values;
  MutexLock lock(mu_);
  if (const auto field = GroupFieldOf(label); field.has_value()) {
    for (const auto& [value, postings] : postings_[*field]) values.insert(value);
  } else {
    for (const auto& [key, entry] : columns_) values.insert(ColumnLabel(key, label));
  }
  values.erase("");
  return {values.begin(), values.end()};
}

std::vector<MetricOfBenchmark> SeriesCatalog::Metrics() const {
  std::vector<MetricOfBenchmark> out;
  MutexLock lock(mu_);
  for (const auto& [metric, series] : metrics_) out.push_back(metric);
  return out;
}

std::vector<GroupPtr> SeriesCatalog::DirtyGroups(size_t limit) const {
  std::vector<GroupPtr> out;
  MutexLock lock(mu_);
  for (auto it = dirty_.begin(); it != dirty_.end() && out.size() < limit; ++it) {
    out.push_back(groups_.at(*it));
  }
  return out;
}

std::vector<GroupPtr> SeriesCatalog::Groups(uint32_t from, size_t limit) const {
  std::vector<GroupPtr> out;
  MutexLock lock(mu_);
  for (auto it = groups_.lower_bound(from); it != groups_.end() && out.size() < limit; ++it) {
    out.push_back(it->second);
  }
  return out;
}

uint32_t SeriesCatalog::next_group() const {
  MutexLock lock(mu_);
  return next_group_;
}

uint64_t SeriesCatalog::next_series() const {
  MutexLock lock(mu_);
  return next_series_;
}

}  // namespace fleetmark::collector
