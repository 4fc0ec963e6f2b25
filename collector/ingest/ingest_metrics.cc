#include "collector/ingest/ingest_metrics.h"

#include "common/model/outcome_name.h"

namespace fleetmark::collector {

IngestMetrics::IngestMetrics(Metrics& metrics)
    : commit_failures(
          metrics.AddCounter("fleetmark_ingest_commit_failures_total", "Commits that the store refused.")),
      queued_offers(
          metrics.AddGauge("fleetmark_ingest_queued_batches", "Batches that wait for the committer.")),
      queued_bytes(metrics.AddGauge("fleetmark_ingest_queued_bytes", "Bytes of the batches that wait.")),
      streams(metrics.AddGauge("fleetmark_ingest_streams", "Open streams of agents.")),
      moved_back(metrics.AddCounter("fleetmark_ingest_records_moved_back_total",
                                    "Records whose times were moved back, as their node's clock was ahead.")),
      paced(metrics.AddCounter("fleetmark_ingest_reads_held_back_total",
                               "Times that an agent was not read on because it sends more than it may.")),
      events_(metrics.AddCounter("fleetmark_ingest_events_total", "Events stored.")),
      samples_(metrics.AddCounter("fleetmark_ingest_samples_total", "Samples stored.")),
      duplicates_(metrics.AddCounter("fleetmark_ingest_records_duplicate_total",
                                     "Records that were stored already and sent again.")),
      over_series_limit_(metrics.AddCounter("fleetmark_ingest_samples_over_series_limit_total",
                                            "Samples not stored because the limit of series was reached.")),
      over_node_limit_(
          metrics.AddCounter("fleetmark_ingest_samples_over_node_limit_total",
                             "Samples not stored because their node has as many series as it may.")),
      late_(metrics.AddCounter("fleetmark_ingest_runs_late_total",
                               "Runs stored that are older than the newest of their series.")),
      too_old_(metrics.AddCounter("fleetmark_ingest_samples_too_old_total",
                                  "Samples not stored because they are older than samples are kept.")),
      runs_too_old_(metrics.AddCounter("fleetmark_ingest_runs_too_old_total",
                                       "Runs not stored because they are older than runs are kept.")),
      commit_seconds_(
          metrics.AddHistogram("fleetmark_ingest_commit_seconds", "Time of one commit to disk.",
                               {0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2})) {
  for (int outcome = 0; outcome < v1::Outcome_ARRAYSIZE; ++outcome) {
    runs_.push_back(&metrics.AddCounter("fleetmark_ingest_runs_total", "Runs stored, by outcome.",
                                        {{"outcome", OutcomeName(static_cast<v1::Outcome>(outcome))}}));
  }
  for (const RefusalKind kind : kRefusalKinds) {
    refused_.push_back(&metrics.AddCounter("fleetmark_ingest_records_refused_total",
                                           "Records refused for good, by reason.",
                                           {{"reason", RefusalKindName(kind)}}));
  }
}

void IngestMetrics::Committed(const CommitResult& result, double seconds) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (result.runs_by_outcome[i] > 0) runs_[i]->Add(static_cast<double>(result.runs_by_outcome[i]));
  }
  events_.Add(static_cast<double>(result.events));
  samples_.Add(static_cast<double>(result.samples));
  duplicates_.Add(static_cast<double>(result.duplicates));
  over_series_limit_.Add(static_cast<double>(result.samples_over_series_limit));
  over_node_limit_.Add(static_cast<double>(result.samples_over_node_limit));
  late_.Add(static_cast<double>(result.runs_late));
  too_old_.Add(static_cast<double>(result.samples_too_old));
  runs_too_old_.Add(static_cast<double>(result.too_old));
  commit_seconds_.Observe(seconds);
}

void IngestMetrics::Refused(RefusalKind kind) { refused_[static_cast<size_t>(kind)]->Add(); }

}  // namespace fleetmark::collector
