#include "collector/query/store_series_source.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/promql/label_index.h"
#include "collector/promql/series_naming.h"
#include "collector/store/store.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kPage = 10'000;
constexpr absl::Duration kMaxAge = absl::Minutes(1);
constexpr int kShareOfTime = 20;
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

}  // namespace

struct StoreSeriesSource::Snapshot {
  promql::LabelIndex index;
  std::vector<uint64_t> ids;          // by position in the index
  std::vector<int64_t> intervals_ms;  // likewise
  std::map<std::string, promql::MetricMetadata> metadata;
  uint64_t series = 0;  // how many the store had
  MonoTime made;
  absl::Duration took;
};

absl::StatusOr<std::shared_ptr<const StoreSeriesSource::Snapshot>> StoreSeriesSource::Build(
    uint64_t series) const {
  auto made = std::make_shared<Snapshot>();
  const MonoTime begin = clock_.Mono();
  made->series = series;
  FM_ASSIGN_OR_RETURN(NodeLabels nodes, ReadNodeLabels(store_));
  Page page{kPage, {}};
  do {
    FM_ASSIGN_OR_RETURN(const std::vector<v1::Series> listed, store_.ListSeries({}, page, &page.token));
    for (const v1::Series& one : listed) {
      made->index.Add(
          std::make_shared<const promql::LabelSet>(promql::LabelsOf(one.key(), nodes[one.key().node()])));
      made->ids.push_back(one.series_id());
      made->intervals_ms.push_back(UsualInterval(one));
      promql::MetricMetadata metadata = promql::MetadataOf(one.key());
      made->metadata.try_emplace(metadata.name, std::move(metadata));
    }
  } while (!page.token.empty());
  made->made = clock_.Mono();
  made->took = made->made - begin;
  return std::shared_ptr<const Snapshot>(std::move(made));
}

absl::StatusOr<std::shared_ptr<const StoreSeriesSource::Snapshot>> StoreSeriesSource::Current() const {
  MutexLock lock(mu_);
  FM_ASSIGN_OR_RETURN(const StoreCounts counts, store_.Counts());
  if (snapshot_ != nullptr) {
    const absl::Duration age = clock_.Mono() - snapshot_->made;
    const bool old = counts.series != snapshot_->series || age > kMaxAge;
    if (!old || age < snapshot_->took * kShareOfTime) return snapshot_;
  }
  FM_ASSIGN_OR_RETURN(snapshot_, Build(counts.series));
  return snapshot_;
}

absl::StatusOr<std::vector<promql::SelectedSeries>> StoreSeriesSource::Select(
    const promql::Matchers& matchers, promql::TimeSpan, size_t limit) const {
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> snapshot, Current());
  const std::vector<uint32_t> found = snapshot->index.Find(matchers);
  if (found.size() > limit) {
    return absl::ResourceExhaustedError(absl::StrCat(found.size(), " series match, more than ", limit));
  }
  std::vector<promql::SelectedSeries> out;
  out.reserve(found.size());
  for (const uint32_t position : found) {
    out.push_back({snapshot->index.At(position), snapshot->ids[position], snapshot->intervals_ms[position]});
  }
  return out;
}

absl::Status StoreSeriesSource::Read(const promql::SelectedSeries& series, promql::TimeSpan span,
                                     size_t limit, std::vector<promql::Point>* points) const {
  bool full = false;
  FM_RETURN_IF_ERROR(store_.ScanSamples(
      series.id, ToNs(span.from_ms), ToNs(span.to_ms) + kNsPerMs, [&](const v1::Sample& sample) {
        const promql::Point point{ToMs(sample.time_unix_ns()), sample.value()};
        // Of two runs within one millisecond the later counts.
        if (!points->empty() && points->back().time_ms == point.time_ms) {
          points->back() = point;
          return true;
        }
        full = points->size() >= limit;
        if (!full) points->push_back(point);
        return !full;
      }));
  if (full) return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " samples"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<promql::MetricMetadata>> StoreSeriesSource::Metadata() const {
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> snapshot, Current());
  std::vector<promql::MetricMetadata> out;
  for (const auto& [name, metadata] : snapshot->metadata) out.push_back(metadata);
  return out;
}

}  // namespace fleetmark::collector
