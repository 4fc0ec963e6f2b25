// Every method of FleetService as a plain call: checks the request, reads the store, and asks the live
// parts of the collector by callbacks. The gRPC and HTTP faces only translate.
//
// Answers stay below the longest message on the wire (common/model/limits.h): a listing is cut short with a
// `next_page_token`, samples with `truncated`.
//
// Thread-safety: all methods, any thread, if the callbacks are. They block for as long as the store reads.
// Ownership: store and clock must outlive it.
// Errors: InvalidArgument names the field; NotFound; Unavailable; those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_QUERY_API_H_
#define FLEETMARK_COLLECTOR_QUERY_QUERY_API_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"
#include "fleetmark/v1/overview.pb.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {
class Clock;
}

namespace fleetmark::collector {

class Store;

// Who follows a run. Calls come one after another, from any thread; `on_end` once and last: OK after
// STATE_FINISHED or STATE_REFUSED, Unavailable when the agent has gone away.
struct RunFollower {
  std::function<void(const v1::RunProgress&)> on_progress;
  std::function<void(const absl::Status&)> on_end;
};

// What only the live parts know. Empty ones answer with nothing, or Unavailable.
struct QueryCallbacks {
  std::function<void(v1::Node*)> fill_live;  // state, heartbeat and the like of a node read from the store
  std::function<uint64_t()> nodes_connected;
  std::function<std::vector<std::string>()> problems;
  // Passes the request to the node's agent; the request's id. Progress may come before it returns.
  // Unavailable: the node isn't connected.
  std::function<absl::StatusOr<std::string>(const v1::RunNowRequest&, RunFollower)> run_now;
  std::function<void(const std::string& request_id)> unfollow;  // the run goes on
  std::function<absl::Status(const v1::CancelRunRequest&)> cancel_run;
  std::function<absl::StatusOr<v1::ImportRunsResponse>(const v1::ImportRunsRequest&)> import_runs;
  std::function<absl::StatusOr<v1::BackupResponse>()> backup;  // blocks until it is made
};

class QueryApi {
 public:
  struct Options {
    Store* store = nullptr;
    Clock* clock = nullptr;
    std::string version;  // of the collector
    QueryCallbacks callbacks;
  };

  explicit QueryApi(Options options);

  absl::StatusOr<v1::GetStatusResponse> GetStatus(const v1::GetStatusRequest& request) const;
  absl::StatusOr<v1::ListNodesResponse> ListNodes(const v1::ListNodesRequest& request) const;
  absl::StatusOr<v1::ListSeriesResponse> ListSeries(const v1::ListSeriesRequest& request) const;
  absl::StatusOr<v1::ReadSamplesResponse> ReadSamples(const v1::ReadSamplesRequest& request) const;
  absl::StatusOr<v1::ListLatestResponse> ListLatest(const v1::ListLatestRequest& request) const;
  absl::StatusOr<v1::ReadQuantilesResponse> ReadQuantiles(const v1::ReadQuantilesRequest& request) const;
  absl::StatusOr<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& request) const;
  absl::StatusOr<v1::GetRunResponse> GetRun(const v1::GetRunRequest& request) const;
  absl::StatusOr<v1::ListFindingsResponse> ListFindings(const v1::ListFindingsRequest& request) const;
  absl::StatusOr<v1::ListEventsResponse> ListEvents(const v1::ListEventsRequest& request) const;

  absl::StatusOr<v1::FleetResponse> GetFleet(const v1::GetFleetRequest& request) const;
  absl::StatusOr<v1::BenchmarksResponse> ListBenchmarks(const v1::ListBenchmarksRequest& request) const;
  absl::StatusOr<v1::Curve> ReadCurve(const v1::ReadCurveRequest& request) const;
  absl::StatusOr<v1::CompareResponse> Compare(const v1::CompareRequest& request) const;

  // Gives the event its id, and its time where it has none.
  absl::StatusOr<v1::AddEventResponse> AddEvent(const v1::AddEventRequest& request) const;

  absl::StatusOr<v1::ImportRunsResponse> ImportRuns(const v1::ImportRunsRequest& request) const;

  absl::StatusOr<v1::BackupResponse> Backup(const v1::BackupRequest& request) const;

  // See QueryCallbacks. After an error the follower is not called.
  absl::StatusOr<std::string> RunNow(const v1::RunNowRequest& request, RunFollower follower) const;
  void Unfollow(const std::string& request_id) const;
  absl::StatusOr<v1::CancelRunResponse> CancelRun(const v1::CancelRunRequest& request) const;

  // OK while the store takes writes.
  absl::Status Ready() const;

  // Differs whenever what the listings tell may differ; but for what the agents say of themselves.
  absl::StatusOr<std::string> Version() const;

 private:
  const Options options_;
  mutable std::atomic<uint64_t> events_added_ = 0;  // the status does not tell of them
  const absl::Time started_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_QUERY_API_H_
