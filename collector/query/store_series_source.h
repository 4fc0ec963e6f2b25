// The collector's store as PromQL reads it: names and labels as docs/prometheus.md states, times cut to
// milliseconds.
//
// The label sets of all series are kept in memory with posting lists, from the first query on. They are read
// anew when series were added, and once a minute for changed labels of nodes; but never more often than takes
// a twentieth of the time, so that with very many series a new one may show a while later.
//
// Thread-safety: all methods, any thread; a query that finds the index too old makes the new one while others
// wait. Ownership: store and clock must outlive it. Errors: those of the store.
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
  StoreSeriesSource(const Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  absl::StatusOr<std::vector<promql::SelectedSeries>> Select(const promql::Matchers& matchers,
                                                             promql::TimeSpan span,
                                                             size_t limit) const override;
  absl::Status Read(const promql::SelectedSeries& series, promql::TimeSpan span, size_t limit,
                    std::vector<promql::Point>* points) const override;
  absl::StatusOr<std::vector<promql::MetricMetadata>> Metadata() const override;

 private:
  struct Snapshot;
  absl::StatusOr<std::shared_ptr<const Snapshot>> Current() const;
  absl::StatusOr<std::shared_ptr<const Snapshot>> Build(uint64_t series) const;

  const Store& store_;
  const Clock& clock_;
  mutable Mutex mu_;  // held while a new snapshot is made
  mutable std::shared_ptr<const Snapshot> snapshot_ ABSL_GUARDED_BY(mu_);
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_STORE_SERIES_SOURCE_H_
