// The collector's store as PromQL reads it: names and labels as docs/prometheus.md states, times cut to
// milliseconds.
//
// The store's own index finds the series: what a selector says of names and of labels that the store has is
// asked there, and the label sets of what comes back decide. Labels of nodes and the label sets of series
// that were asked for are kept for up to a minute, so a node's changed label may show that much later; a new
// series shows at once.
//
// Thread-safety: all methods, any thread. Ownership: store and clock must outlive it. Errors: those of the
// store.
#ifndef FLEETMARK_COLLECTOR_QUERY_STORE_SERIES_SOURCE_H_
#define FLEETMARK_COLLECTOR_QUERY_STORE_SERIES_SOURCE_H_

#include <memory>
#include <vector>

#include "collector/promql/series_source.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace fleetmark::collector {

class Store;

class StoreSeriesSource final : public promql::SeriesSource {
 public:
  StoreSeriesSource(const Store& store, const Clock& clock);
  ~StoreSeriesSource() override;

  absl::StatusOr<std::vector<promql::SelectedSeries>> Select(const promql::Matchers& matchers,
                                                             promql::TimeSpan span,
                                                             size_t limit) const override;
  absl::Status Read(const promql::SelectedSeries& series, promql::TimeSpan span, size_t limit,
                    std::vector<promql::Point>* points) const override;
  absl::StatusOr<std::vector<promql::MetricMetadata>> Metadata() const override;

 private:
  class LabelCache;
  absl::StatusOr<std::shared_ptr<LabelCache>> Cache() const;

  const Store& store_;
  const Clock& clock_;
  mutable Mutex mu_;  // held while nodes' labels are read
  mutable std::shared_ptr<LabelCache> cache_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_STORE_SERIES_SOURCE_H_
