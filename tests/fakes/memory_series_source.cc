#include "tests/fakes/memory_series_source.h"

#include <memory>
#include <set>

namespace fleetmark::collector::promql {

void MemorySeriesSource::Add(const LabelSet& labels, Point point) {
  const auto [it, is_new] = positions_.try_emplace(labels, series_.size());
  if (is_new) series_.push_back({std::make_shared<const LabelSet>(labels), {}});
  series_[it->second].points.push_back(point);
}

absl::StatusOr<std::vector<SelectedSeries>> MemorySeriesSource::Select(const Matchers& matchers,
                                                                       TimeSpan span, size_t limit) const {
  std::vector<SelectedSeries> out;
  for (uint32_t position = 0; position < series_.size(); ++position) {
    const auto& [metric, points] = series_[position];
    if (!MatchesAll(matchers, *metric)) continue;
    if (points.back().time_ms < span.from_ms || points.front().time_ms > span.to_ms) continue;
    if (out.size() == limit) return absl::ResourceExhaustedError("too many series");
    const int64_t length = points.back().time_ms - points.front().time_ms;
    const auto gaps = static_cast<int64_t>(points.size()) - 1;
    out.push_back({metric, position, gaps == 0 ? 0 : length / gaps});
  }
  return out;
}

absl::Status MemorySeriesSource::Read(const SelectedSeries& series, TimeSpan span, size_t limit,
                                      std::vector<Point>* points) const {
  for (const Point& point : series_[series.id].points) {
    if (point.time_ms < span.from_ms || point.time_ms > span.to_ms) continue;
    if (points->size() == limit) return absl::ResourceExhaustedError("too many samples");
    points->push_back(point);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<MetricMetadata>> MemorySeriesSource::Metadata() const {
  std::set<std::string> names;
  for (const auto& [labels, position] : positions_) names.emplace(labels.Get(kMetricName));
  std::vector<MetricMetadata> out;
  for (const std::string& name : names) out.push_back({name, "", ""});
  return out;
}

}  // namespace fleetmark::collector::promql
