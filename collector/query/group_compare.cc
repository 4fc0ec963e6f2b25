#include "collector/query/group_compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "collector/detect/robust_statistics.h"
#include "collector/query/store_walk.h"
#include "collector/query/two_samples.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxSeries = 50'000;
constexpr size_t kMaxSamples = 4'000'000;
constexpr size_t kMaxComparisons = 300;
constexpr size_t kMaxNodes = 20'000;
constexpr size_t kMaxValues = 500;
constexpr size_t kLeastNodes = 3;  // with fewer, samples are compared
constexpr size_t kLeastPairs = 5;

// Benchmark, metric, unit, labels.
using MetricKey = std::tuple<std::string, std::string, std::string, std::map<std::string, std::string>>;

struct MetricValues {
  v1::Better better = v1::BETTER_NONE;
  std::map<std::string, std::vector<double>> by_node;
};
using GroupValues = std::map<MetricKey, MetricValues>;

// walk's bound; here an answer from a part would mislead.
struct Cut {
  void set_truncated(bool value) { truncated = value; }
  bool truncated = false;
};

absl::Status TooMuch(const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": chooses more than ", what, "; name a benchmark and a metric, fewer nodes, or a shorter time"));
}

// NAME=VALUE of CompareGroup.fact; nullopt: any node.
absl::StatusOr<std::optional<std::set<std::string>>> NodesWithFact(const Store& store,
                                                                   const std::string& fact) {
  if (fact.empty()) return std::optional<std::set<std::string>>();
  const size_t equals = fact.find('=');
  if (equals == std::string::npos || equals == 0)
    return absl::InvalidArgumentError("fact: must be NAME=VALUE, as in kernel.release=6.1.0");
  const std::string name = fact.substr(0, equals), value = fact.substr(equals + 1);
  std::set<std::string> nodes;
  Cut cut;
  FM_RETURN_IF_ERROR(WalkNodes(store, kMaxNodes, cut, [&](const v1::Node& node) {
    for (const v1::Fact& f : node.facts()) {
      if (f.name() == name && f.value() == value) nodes.insert(node.identity().name());
    }
  }));
  return std::optional(std::move(nodes));
}

absl::StatusOr<GroupValues> ReadGroup(const Store& store, const std::string& name,
                                      const v1::CompareGroup& group) {
  FM_ASSIGN_OR_RETURN(const auto nodes, NodesWithFact(store, group.fact()));
  std::vector<uint64_t> ids;
  absl::flat_hash_map<uint64_t, std::pair<MetricValues*, std::string>> places;
  GroupValues values;
  Cut cut;
  FM_RETURN_IF_ERROR(WalkSeries(store, group.selector(), kMaxSeries, cut, [&](const v1::Series& series) {
    const v1::SeriesKey& key = series.key();
    if (nodes.has_value() && !nodes->contains(key.node())) return;
    if (!group.plugin_version().empty() && key.plugin_version() != group.plugin_version()) return;
    if (!group.params_digest().empty() && key.params_digest() != group.params_digest()) return;
    MetricValues& metric =
        values[{key.benchmark(), key.metric(), key.unit(), {key.labels().begin(), key.labels().end()}}];
    metric.better = series.better();
    ids.push_back(series.series_id());
    places[series.series_id()] = {&metric, key.node()};
  }));
  if (cut.truncated) return TooMuch(name, absl::StrCat(kMaxSeries, " series"));
  size_t samples = 0;
  const int64_t to = group.range().to_unix_ns() == 0 ? INT64_MAX : group.range().to_unix_ns();
  FM_RETURN_IF_ERROR(
      store.ScanValues(ids, group.range().from_unix_ns(), to,
                       [&](uint64_t id, absl::Span<const int64_t>, absl::Span<const double> of_series) {
                         const auto& [metric, node] = places[id];
                         for (const double value : of_series) {
                           if (std::isfinite(value)) metric->by_node[node].push_back(value);
                         }
                         samples += of_series.size();
                         return samples <= kMaxSamples;
                       }));
  if (samples > kMaxSamples) return TooMuch(name, absl::StrCat(kMaxSamples, " samples"));
  std::erase_if(values, [](const auto& entry) { return entry.second.by_node.empty(); });
  return values;
}

std::vector<double> Thinned(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  if (values.size() <= kMaxValues) return values;
  std::vector<double> thinned;
  for (size_t i = 0; i < kMaxValues; ++i) {
    thinned.push_back(values[i * (values.size() - 1) / (kMaxValues - 1)]);
  }
  return thinned;
}

v1::GroupStatistics Statistics(const MetricValues& metric, bool by_node) {
  v1::GroupStatistics out;
  std::vector<double> values;
  for (const auto& [node, of_node] : metric.by_node) {
    out.set_samples(out.samples() + of_node.size());
    if (by_node) values.push_back(Median(of_node));
    if (!by_node) values.insert(values.end(), of_node.begin(), of_node.end());
  }
  out.set_nodes(static_cast<uint32_t>(metric.by_node.size()));
  out.set_median(Median(values));
  out.set_lower_quartile(Quantile(values, 0.25));
  out.set_upper_quartile(Quantile(values, 0.75));
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  out.set_least(*least);
  out.set_greatest(*greatest);
  const std::vector<double> shown = Thinned(std::move(values));
  out.mutable_values()->Add(shown.begin(), shown.end());
  return out;
}

std::vector<double> Scaled(absl::Span<const double> values, bool absolute) {
  std::vector<double> scaled(values.begin(), values.end());
  if (!absolute) {
    for (double& value : scaled) value = std::log(value);
  }
  return scaled;
}

std::vector<double> PairDifferences(const MetricValues& a, const MetricValues& b, bool absolute) {
  std::vector<double> differences;
  for (const auto& [node, values] : a.by_node) {
    const auto other = b.by_node.find(node);
    if (other == b.by_node.end()) continue;
    const double before = Median(values), after = Median(other->second);
    differences.push_back(absolute ? after - before : std::log(after / before));
  }
  return differences;
}

void SetDirection(v1::Comparison* c) {
  c->set_direction(v1::Finding::DIRECTION_NEUTRAL);
  if (!c->has_change_low() || (c->change_low() <= 0 && c->change_high() >= 0)) return;
  const bool up = c->change() > 0;
  if (c->better() == v1::BETTER_HIGHER) {
    c->set_direction(up ? v1::Finding::DIRECTION_BETTER : v1::Finding::DIRECTION_WORSE);
  } else if (c->better() == v1::BETTER_LOWER) {
    c->set_direction(up ? v1::Finding::DIRECTION_WORSE : v1::Finding::DIRECTION_BETTER);
  }
}

bool IsClear(const v1::Comparison& c) {
  return c.has_change_low() && (c.change_low() > 0 || c.change_high() < 0);
}

std::string Explain(const v1::Comparison& c, size_t pairs) {
  const std::string basis =
      c.basis() == v1::Comparison::BASIS_PAIRED_NODES
          ? absl::StrCat(pairs, " nodes that are in both groups, each compared with itself")
      : c.basis() == v1::Comparison::BASIS_NODES
          ? absl::StrCat("medians of ", c.a().nodes(), " and ", c.b().nodes(), " nodes")
          : absl::StrCat(c.a().samples(), " and ", c.b().samples(), " samples of ", c.a().nodes(), " and ",
                         c.b().nodes(), " nodes: a difference between these nodes would look the same");
  if (!c.has_change_low()) return absl::StrCat("too few values for an interval; ", basis);
  return absl::StrCat(IsClear(c) ? "a clear difference; " : "no clear difference; ", basis);
}

v1::Comparison CompareMetric(const MetricKey& key, const MetricValues& a, const MetricValues& b) {
  v1::Comparison c;
  const auto& [benchmark, metric, unit, labels] = key;
  c.set_benchmark(benchmark);
  c.set_metric(metric);
  c.set_unit(unit);
  c.mutable_labels()->insert(labels.begin(), labels.end());
  c.set_better(b.better);
  const bool by_node = a.by_node.size() >= kLeastNodes && b.by_node.size() >= kLeastNodes;
  *c.mutable_a() = Statistics(a, by_node);
  *c.mutable_b() = Statistics(b, by_node);
  c.set_absolute(c.a().least() <= 0 || c.b().least() <= 0);
  const std::vector<double> pairs = by_node ? PairDifferences(a, b, c.absolute()) : std::vector<double>();
  const bool paired = pairs.size() >= kLeastPairs && pairs.size() * 2 >= a.by_node.size() &&
                      pairs.size() * 2 >= b.by_node.size();
  const Shift shift =
      paired ? ShiftOfPairs(Thinned(pairs))
             : ShiftBetween(Scaled(c.a().values(), c.absolute()), Scaled(c.b().values(), c.absolute()));
  const auto change = [&c](double d) { return c.absolute() ? d : std::expm1(d); };
  c.set_change(change(shift.estimate));
  if (shift.interval.has_value()) {
    c.set_change_low(change(shift.interval->first));
    c.set_change_high(change(shift.interval->second));
  }
  c.set_superiority(Superiority(c.a().values(), c.b().values()));
  c.set_basis(paired    ? v1::Comparison::BASIS_PAIRED_NODES
              : by_node ? v1::Comparison::BASIS_NODES
                        : v1::Comparison::BASIS_SAMPLES);
  SetDirection(&c);
  c.set_explanation(Explain(c, pairs.size()));
  return c;
}

uint32_t CountNodes(const GroupValues& group) {
  std::set<std::string> nodes;
  for (const auto& [key, metric] : group) {
    for (const auto& [node, values] : metric.by_node) nodes.insert(node);
  }
  return static_cast<uint32_t>(nodes.size());
}

}  // namespace

absl::StatusOr<v1::CompareResponse> CompareGroups(const Store& store, const v1::CompareRequest& request) {
  FM_ASSIGN_OR_RETURN(const GroupValues a, ReadGroup(store, "a", request.a()));
  FM_ASSIGN_OR_RETURN(const GroupValues b, ReadGroup(store, "b", request.b()));
  std::vector<v1::Comparison> comparisons;
  for (const auto& [key, metric] : a) {
    const auto other = b.find(key);
    if (other == b.end()) continue;
    if (comparisons.size() >= kMaxComparisons) return TooMuch("a", absl::StrCat(kMaxComparisons, " metrics"));
    comparisons.push_back(CompareMetric(key, metric, other->second));
  }
  std::stable_sort(comparisons.begin(), comparisons.end(), [](const auto& x, const auto& y) {
    return std::make_tuple(!IsClear(x), x.absolute(), -std::abs(x.change())) <
           std::make_tuple(!IsClear(y), y.absolute(), -std::abs(y.change()));
  });
  v1::CompareResponse response;
  for (v1::Comparison& comparison : comparisons) *response.add_comparisons() = std::move(comparison);
  response.set_nodes_a(CountNodes(a));
  response.set_nodes_b(CountNodes(b));
  return response;
}

}  // namespace fleetmark::collector
