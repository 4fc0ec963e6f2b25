#include "collector/query/store_series_source.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/series_naming.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kPage = 10'000;
constexpr absl::Duration kMaxAge = absl::Minutes(1);
constexpr size_t kMaxCached = 200'000;  // label sets of series, each some 500 bytes
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kMaxMs = std::numeric_limits<int64_t>::max() / kNsPerMs - 1;

using NodeLabels = std::map<std::string, std::map<std::string, std::string>>;

int64_t ToNs(int64_t ms) { return std::clamp(ms, -kMaxMs, kMaxMs) * kNsPerMs; }

int64_t ToMs(int64_t ns) { return ns / kNsPerMs - (ns % kNsPerMs < 0 ? 1 : 0); }

int64_t UsualInterval(const v1::Series& series) {
  if (series.samples() < 2) return 0;
  return ToMs((series.last_unix_ns() - series.first_unix_ns()) / static_cast<int64_t>(series.samples() - 1));
}

absl::StatusOr<NodeLabels> ReadNodeLabels(const Store& store) {
  NodeLabels labels;
  Page page{kPage, {}};
  do {
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Node> nodes, store.ListNodes(page, &page.token));
    for (const v1::Node& node : nodes) {
      const auto& given = node.identity().labels();
      labels[node.identity().name()].insert(given.begin(), given.end());
    }
  } while (!page.token.empty());
  return labels;
}

v1::SeriesKey KeyOf(const MetricOfBenchmark& metric) {
  v1::SeriesKey key;
  key.set_benchmark(metric.benchmark);
  key.set_metric(metric.metric);
  key.set_unit(metric.unit);
  return key;
}

LabelMatcher::Op ToStoreOp(promql::Matcher::Op op) {
  switch (op) {
    case promql::Matcher::Op::kEqual:
      return LabelMatcher::Op::kEqual;
    case promql::Matcher::Op::kNotEqual:
      return LabelMatcher::Op::kNotEqual;
    case promql::Matcher::Op::kRegex:
      return LabelMatcher::Op::kRegex;
    case promql::Matcher::Op::kNotRegex:
      return LabelMatcher::Op::kNotRegex;
  }
  return LabelMatcher::Op::kEqual;
}

// What the store can be asked in PromQL's terms; the rest is decided by label sets.
std::vector<LabelMatcher> ToStoreMatchers(const promql::Matchers& matchers) {
  std::vector<LabelMatcher> out;
  for (const promql::Matcher& matcher : matchers) {
    const std::optional<std::string> label = promql::StoredLabelOf(matcher.name());
    if (label.has_value()) out.push_back({*label, ToStoreOp(matcher.op()), matcher.value()});
  }
  return out;
}

bool IsNamedSo(const MetricOfBenchmark& metric, const promql::Matchers& matchers) {
  const std::string name = promql::MetricNameOf(KeyOf(metric));
  return std::all_of(matchers.begin(), matchers.end(), [&](const promql::Matcher& matcher) {
    return matcher.name() != promql::kMetricName || matcher.Matches(name);
  });
}

// A superset of the series that the matchers match, ascending.
absl::StatusOr<std::vector<uint64_t>> FindCandidates(const Store& store, const promql::Matchers& matchers) {
  const std::vector<LabelMatcher> shared = ToStoreMatchers(matchers);
  std::vector<MetricOfBenchmark> metrics = store.Metrics();
  const size_t all = metrics.size();
  std::erase_if(metrics, [&](const MetricOfBenchmark& metric) { return !IsNamedSo(metric, matchers); });
  if (metrics.size() == all) return store.Select(shared);
  std::vector<uint64_t> ids;
  for (const MetricOfBenchmark& metric : metrics) {
    std::vector<LabelMatcher> one = shared;
    one.push_back({"benchmark", LabelMatcher::Op::kEqual, metric.benchmark});
    one.push_back({"metric", LabelMatcher::Op::kEqual, metric.metric});
    one.push_back({"unit", LabelMatcher::Op::kEqual, metric.unit});
    FM_ASSIGN_OR_RETURN(const std::vector<uint64_t> found, store.Select(one));
    ids.insert(ids.end(), found.begin(), found.end());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

// Thread-safety: Get, any thread.
class StoreSeriesSource::LabelCache {
 public:
  LabelCache(const Store& store, NodeLabels nodes, MonoTime made)
      : store_(store), made_(made), nodes_(std::move(nodes)) {}

  MonoTime made() const { return made_; }

  // NotFound when the series is gone.
  absl::StatusOr<promql::SelectedSeries> Get(uint64_t id) {
    MutexLock lock(mu_);
    if (const auto it = series_.find(id); it != series_.end()) return it->second;
    FM_ASSIGN_OR_RETURN(const v1::Series series, store_.GetSeries(id));
    static const std::map<std::string, std::string> none;
    const auto node = nodes_.find(series.key().node());
    promql::SelectedSeries selected{std::make_shared<const promql::LabelSet>(promql::LabelsOf(
                                        series.key(), node == nodes_.end() ? none : node->second)),
                                    id, UsualInterval(series)};
    if (series_.size() < kMaxCached) series_.emplace(id, selected);
    return selected;
  }

 private:
  const Store& store_;
  const MonoTime made_;
  const NodeLabels nodes_;
  Mutex mu_;
  absl::flat_hash_map<uint64_t, promql::SelectedSeries> series_ ABSL_GUARDED_BY(mu_);
};

StoreSeriesSource::StoreSeriesSource(const Store& store, const Clock& clock) : store_(store), clock_(clock) {}

StoreSeriesSource::~StoreSeriesSource() = default;

absl::StatusOr<std::shared_ptr<StoreSeriesSource::LabelCache>> StoreSeriesSource::Cache() const {
  MutexLock lock(mu_);
  const MonoTime now = clock_.Mono();
  if (cache_ == nullptr || now - cache_->made() > kMaxAge) {
    FM_ASSIGN_OR_RETURN(NodeLabels nodes, ReadNodeLabels(store_));
    cache_ = std::make_shared<LabelCache>(store_, std::move(nodes), now);
  }
  return cache_;
}

absl::StatusOr<std::vector<promql::SelectedSeries>> StoreSeriesSource::Select(
    const promql::Matchers& matchers, promql::TimeSpan, size_t limit) const {
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<LabelCache> cache, Cache());
  FM_ASSIGN_OR_RETURN(const std::vector<uint64_t> candidates, FindCandidates(store_, matchers));
  std::vector<promql::SelectedSeries> out;
  for (const uint64_t id : candidates) {
    absl::StatusOr<promql::SelectedSeries> series = cache->Get(id);
    if (absl::IsNotFound(series.status())) continue;  // removed by retention just now
    FM_RETURN_IF_ERROR(series.status());
    if (!promql::MatchesAll(matchers, *series->metric)) continue;
    if (out.size() == limit)
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " series match"));
    out.push_back(*std::move(series));
  }
  return out;
}

absl::Status StoreSeriesSource::Read(const promql::SelectedSeries& series, promql::TimeSpan span,
                                     size_t limit, std::vector<promql::Point>* points) const {
  bool full = false;
  const auto add = [&](uint64_t, absl::Span<const int64_t> times, absl::Span<const double> values) {
    for (size_t i = 0; i < times.size() && !full; ++i) {
      const promql::Point point{ToMs(times[i]), values[i]};
      // Of two runs within one millisecond the later counts.
      if (!points->empty() && points->back().time_ms == point.time_ms) {
        points->back() = point;
        continue;
      }
      full = points->size() >= limit;
      if (!full) points->push_back(point);
    }
    return !full;
  };
  FM_RETURN_IF_ERROR(
      store_.ScanValues({&series.id, 1}, ToNs(span.from_ms), ToNs(span.to_ms) + kNsPerMs, add));
  if (full) return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " samples"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<promql::MetricMetadata>> StoreSeriesSource::Metadata() const {
  std::map<std::string, promql::MetricMetadata> by_name;
  for (const MetricOfBenchmark& metric : store_.Metrics()) {
    promql::MetricMetadata metadata = promql::MetadataOf(KeyOf(metric));
    by_name.try_emplace(metadata.name, std::move(metadata));
  }
  std::vector<promql::MetricMetadata> out;
  for (auto& [name, metadata] : by_name) out.push_back(std::move(metadata));
  return out;
}

}  // namespace fleetmark::collector
