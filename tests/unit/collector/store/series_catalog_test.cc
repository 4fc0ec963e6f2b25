// The catalogue selects what a plain search over all series does, whatever came and went before.
#include "collector/store/series_catalog.h"

#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using Op = LabelMatcher::Op;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Every series with its labels, and nothing else.
class PlainIndex {
 public:
  void Add(uint64_t id, std::map<std::string, std::string> labels) { series_[id] = std::move(labels); }
  void Remove(uint64_t id) { series_.erase(id); }

  std::vector<uint64_t> Select(const std::vector<LabelMatcher>& matchers) const {
    std::vector<uint64_t> ids;
    for (const auto& [id, labels] : series_) {
      bool all = true;
      for (const LabelMatcher& matcher : matchers) {
        const auto it = labels.find(matcher.label);
        all = all && Matches(matcher, it == labels.end() ? "" : it->second);
      }
      if (all) ids.push_back(id);
    }
    return ids;
  }
  std::vector<MetricOfBenchmark> Metrics() const {
    std::set<MetricOfBenchmark> metrics;
    for (const auto& [id, labels] : series_) {
      metrics.insert({labels.at("benchmark"), labels.at("metric"), labels.at("unit")});
    }
    return {metrics.begin(), metrics.end()};
  }

  std::vector<std::string> Values(const std::string& label) const {
    std::set<std::string> values;
    for (const auto& [id, labels] : series_) {
      const auto it = labels.find(label);
      if (it != labels.end() && !it->second.empty()) values.insert(it->second);
    }
    return {values.begin(), values.end()};
  }
  const std::map<uint64_t, std::map<std::string, std::string>>& series() const { return series_; }

 private:
  static bool Matches(const LabelMatcher& matcher, const std::string& value) {
    if (matcher.op == Op::kEqual) return value == matcher.value;
    if (matcher.op == Op::kNotEqual) return value != matcher.value;
    return std::regex_match(value, std::regex(matcher.value)) == (matcher.op == Op::kRegex);
  }

  std::map<uint64_t, std::map<std::string, std::string>> series_;
};

class Churn {
 public:
  explicit Churn(uint32_t seed) : rng_(seed) {}

  void Step() {
    switch (rng_() % 6) {
      case 0:
        return AddGroup();
      case 1:
      case 2:
      case 3:
        return AddColumn();
      case 4:
        return RemoveColumn();
      default:
        if (rng_() % 4 == 0) RemoveGroup();
    }
  }

  LabelMatcher Matcher() {
    static const char* const kLabels[] = {"node",   "benchmark", "metric", "unit",
                                          "device", "plugin",    "absent"};
    static const char* const kValues[] = {"n1", "n22", "b1", "m1", "m2", "u", "gpu0", "", "p"};
    static const char* const kPatterns[] = {"n.*", "n[12]+", "m1|m2", "gpu.", ".*", ".+", "", "b1|"};
    const auto op = static_cast<Op>(rng_() % 4);
    const bool pattern = op == Op::kRegex || op == Op::kNotRegex;
    return {kLabels[rng_() % std::size(kLabels)], op,
            pattern ? kPatterns[rng_() % std::size(kPatterns)] : kValues[rng_() % std::size(kValues)]};
  }

  size_t Random(size_t below) { return rng_() % below; }

  SeriesCatalog catalog;
  PlainIndex plain;

 private:
  void AddGroup() {
    Group group;
    group.id = next_group_;
    group.key = std::make_shared<const GroupKey>(GroupKey{
        absl::StrCat("n", rng_() % 30), absl::StrCat("b", rng_() % 3), "p", "1", absl::StrCat(next_group_)});
    groups_[next_group_++] = group;
    catalog.Publish(group);
  }

  Group* AnyGroup() {
    if (groups_.empty()) return nullptr;
    auto it = groups_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_() % groups_.size()));
    return &it->second;
  }

  void AddColumn() {
    Group* const group = AnyGroup();
    if (group == nullptr) return;
    ColumnKey key{absl::StrCat("m", rng_() % 4), "u", {}};
    if (rng_() % 2 == 0) key.labels = {{"device", absl::StrCat("gpu", rng_() % 3)}};
    for (const Group::Column& column : group->columns) {
      if (*column.key == key) return;
    }
    std::map<std::string, std::string> labels = {{"node", group->key->node},
                                                 {"benchmark", group->key->benchmark},
                                                 {"plugin", "p"},
                                                 {"metric", key.metric},
                                                 {"unit", "u"}};
    labels.insert(key.labels.begin(), key.labels.end());
    Group::Column& column = group->columns.emplace_back();
    column.key = catalog.Intern(key);
    column.number = group->next_column++;
    column.series_id = next_series_++;
    plain.Add(column.series_id, labels);
    catalog.Publish(*group);
  }

  void RemoveColumn() {
    Group* const group = AnyGroup();
    if (group == nullptr || group->columns.empty()) return;
    const auto it = group->columns.begin() + static_cast<std::ptrdiff_t>(rng_() % group->columns.size());
    plain.Remove(it->series_id);
    group->columns.erase(it);
    catalog.Publish(*group);
  }

  void RemoveGroup() {
    Group* const group = AnyGroup();
    if (group == nullptr) return;
    for (const Group::Column& column : group->columns) plain.Remove(column.series_id);
    catalog.Remove(group->id);
    groups_.erase(group->id);
  }

  std::mt19937 rng_;
  uint32_t next_group_ = 1;
  uint64_t next_series_ = 1;
  std::map<uint32_t, Group> groups_;
};

TEST(SeriesCatalog, SelectsWhatAPlainSearchDoes) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Churn churn(seed);
    for (int step = 0; step < 400; ++step) {
      churn.Step();
      std::vector<LabelMatcher> matchers;
      for (size_t i = churn.Random(4); i > 0; --i) matchers.push_back(churn.Matcher());
      const auto selected = churn.catalog.Select(matchers);
      ASSERT_TRUE(selected.ok()) << selected.status();
      std::string text;
      for (const LabelMatcher& m : matchers) {
        absl::StrAppend(&text, " ", m.label, " ", static_cast<int>(m.op), " ", m.value);
      }
      ASSERT_EQ(*selected, churn.plain.Select(matchers)) << "seed " << seed << " step " << step << text;
    }
    for (const char* label : {"node", "metric", "device", "absent"}) {
      EXPECT_EQ(churn.catalog.LabelValues(label), churn.plain.Values(label)) << label;
    }
    EXPECT_EQ(churn.catalog.Metrics(), churn.plain.Metrics());
    for (const auto& [id, labels] : churn.plain.series()) {
      const auto place = churn.catalog.FindSeries(id);
      ASSERT_TRUE(place.has_value()) << id;
      EXPECT_EQ((*place)->key->metric, labels.at("metric"));
      EXPECT_EQ(place->group->key->node, labels.at("node"));
    }
  }
}

TEST(SeriesCatalog, ABadRegularExpressionIsTold) {
  const SeriesCatalog catalog;
  const auto selected = catalog.Select({LabelMatcher{"node", Op::kRegex, "("}});
  EXPECT_EQ(selected.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SeriesCatalog, KnowsDirtyGroupsAndForgetsRemovedOnes) {
  SeriesCatalog catalog;
  Group group;
  group.id = 3;
  group.key = std::make_shared<const GroupKey>(GroupKey{"n", "b", "p", "1", "d"});
  group.next_column = 1;
  group.columns.push_back({catalog.Intern({"m", "s", {}}), 9, 0, v1::BETTER_HIGHER, true, {}});
  catalog.Publish(group);
  ASSERT_EQ(catalog.DirtyGroups(10).size(), 1u);
  EXPECT_EQ(catalog.next_group(), 4u);
  EXPECT_EQ(catalog.next_series(), 10u);
  EXPECT_THAT(catalog.LabelNames(), ElementsAre("benchmark", "metric", "node", "params_digest", "plugin",
                                                "plugin_version", "unit"));
  group.columns[0].dirty = false;
  catalog.Publish(group);
  EXPECT_THAT(catalog.DirtyGroups(10), IsEmpty());
  catalog.Remove(3);
  EXPECT_FALSE(catalog.FindSeries(9).has_value());
  EXPECT_EQ(catalog.Find(GroupText(*group.key)), nullptr);
  EXPECT_THAT(catalog.LabelNames(), IsEmpty());
}

}  // namespace
}  // namespace fleetmark::collector
