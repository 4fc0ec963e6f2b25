// Series in memory, for tests of PromQL without a store.
//
// Thread-safety: const methods from any thread; Add before.
#ifndef FLEETMARK_TESTS_FAKES_MEMORY_SERIES_SOURCE_H_
#define FLEETMARK_TESTS_FAKES_MEMORY_SERIES_SOURCE_H_

#include <map>
#include <vector>

#include "collector/promql/series_source.h"

namespace fleetmark::collector::promql {

class MemorySeriesSource final : public SeriesSource {
 public:
  // Times ascending within a series.
  void Add(const LabelSet& labels, Point point);

  absl::StatusOr<std::vector<SelectedSeries>> Select(const Matchers& matchers, TimeSpan span,
                                                     size_t limit) const override;
  absl::Status Read(const SelectedSeries& series, TimeSpan span, size_t limit,
                    std::vector<Point>* points) const override;
  absl::StatusOr<std::vector<MetricMetadata>> Metadata() const override;

 private:
  struct Series {
    Metric metric;
    std::vector<Point> points;
  };
  std::map<LabelSet, size_t> positions_;
  std::vector<Series> series_;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_TESTS_FAKES_MEMORY_SERIES_SOURCE_H_
