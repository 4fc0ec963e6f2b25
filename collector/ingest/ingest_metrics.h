// The instruments of ingest.
//
// Thread-safety: any thread. Ownership: the Metrics that they were made from must outlive them.
#ifndef FLEETMARK_COLLECTOR_INGEST_INGEST_METRICS_H_
#define FLEETMARK_COLLECTOR_INGEST_INGEST_METRICS_H_

#include <vector>

#include "collector/ingest/validate.h"
#include "collector/store/store_types.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {

class IngestMetrics {
 public:
  explicit IngestMetrics(Metrics& metrics);

  void Committed(const CommitResult& result, double seconds);
  void Refused(RefusalKind kind);

  Counter& commit_failures;
  Gauge& queued_offers;
  Gauge& queued_bytes;
  Gauge& streams;
  Counter& moved_back;
  Counter& paced;

 private:
  std::vector<Counter*> runs_;     // by v1::Outcome
  std::vector<Counter*> refused_;  // by RefusalKind
  Counter& events_;
  Counter& samples_;
  Counter& duplicates_;
  Counter& over_series_limit_;
  Counter& over_node_limit_;
  Counter& late_;
  Counter& too_old_;
  Counter& runs_too_old_;
  Histogram& commit_seconds_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_INGEST_INGEST_METRICS_H_
