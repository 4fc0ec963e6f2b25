// The command line's side of FleetService and AlertService: one call after another, each with a time limit.
//
// Errors: Unavailable and DeadlineExceeded mean that the collector can't be reached or does not answer,
// and say what to do. A collector that answers "unavailable" (the node is not connected, the store is
// full) gives FailedPrecondition with its words, for the collector itself was reached. Others are the
// collector's own.
//
// Thread-safety: calls from one thread at a time, but Cancel and StopFollowing while Follow runs in
// another. Ownership: owns its channel. gRPC is included by client.cc alone.
#ifndef FLEETMARK_CLI_COMMANDS_CLIENT_H_
#define FLEETMARK_CLI_COMMANDS_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "fleetmark/v1/alert.pb.h"
#include "fleetmark/v1/audit.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

class Client {
 public:
  struct Options {
    std::string address;  // host:port
    std::string tls_ca, tls_certificate, tls_key;
    std::string token_file;  // empty: the environment's FLEETMARK_TOKEN, if there is one
    absl::Duration connect_timeout = absl::Seconds(5);
    absl::Duration call_timeout = absl::Seconds(30);
  };

  // Returns when connected.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const Options& options, Clock& clock);
  ~Client();

  absl::StatusOr<v1::GetStatusResponse> GetStatus(const v1::GetStatusRequest& request);
  absl::StatusOr<v1::ReadSamplesResponse> ReadSamples(const v1::ReadSamplesRequest& request);
  absl::StatusOr<v1::FleetResponse> GetFleet(const v1::GetFleetRequest& request);
  absl::StatusOr<v1::BenchmarksResponse> ListBenchmarks(const v1::ListBenchmarksRequest& request);
  absl::StatusOr<v1::Curve> ReadCurve(const v1::ReadCurveRequest& request);
  absl::StatusOr<v1::CompareResponse> Compare(const v1::CompareRequest& request);
  absl::StatusOr<v1::ReadQuantilesResponse> ReadQuantiles(const v1::ReadQuantilesRequest& request);
  absl::StatusOr<v1::GetRunResponse> GetRun(const v1::GetRunRequest& request);
  absl::StatusOr<v1::AddEventResponse> AddEvent(const v1::AddEventRequest& request);
  absl::StatusOr<v1::ImportRunsResponse> ImportRuns(const v1::ImportRunsRequest& request);
  // Waits for as long as it takes.
  absl::StatusOr<v1::BackupResponse> Backup(const v1::BackupRequest& request);
  absl::StatusOr<v1::CancelRunResponse> CancelRun(const v1::CancelRunRequest& request);
  absl::StatusOr<v1::GetAlertResponse> GetAlert(const v1::GetAlertRequest& request);
  absl::StatusOr<v1::AckAlertResponse> AckAlert(const v1::AckAlertRequest& request);
  absl::StatusOr<v1::ListReceiversResponse> ListReceivers(const v1::ListReceiversRequest& request);
  absl::StatusOr<v1::ListSilencesResponse> ListSilences(const v1::ListSilencesRequest& request);
  absl::StatusOr<v1::AddSilenceResponse> AddSilence(const v1::AddSilenceRequest& request);
  absl::StatusOr<v1::EndSilenceResponse> EndSilence(const v1::EndSilenceRequest& request);

  // These follow the pages until `request.limit` entries have come or there are no more; the answer is
  // all pages as one. A next_page_token in it means that there are more.
  absl::StatusOr<v1::ListNodesResponse> ListNodes(v1::ListNodesRequest request);
  absl::StatusOr<v1::ListSeriesResponse> ListSeries(v1::ListSeriesRequest request);
  absl::StatusOr<v1::ListLatestResponse> ListLatest(v1::ListLatestRequest request);
  absl::StatusOr<v1::ListRunsResponse> ListRuns(v1::ListRunsRequest request);
  absl::StatusOr<v1::ListFindingsResponse> ListFindings(v1::ListFindingsRequest request);
  absl::StatusOr<v1::ListEventsResponse> ListEvents(v1::ListEventsRequest request);
  absl::StatusOr<v1::ListAlertsResponse> ListAlerts(v1::ListAlertsRequest request);
  absl::StatusOr<v1::ListAuditResponse> ListAudit(v1::ListAuditRequest request);

  // Asks for a run and calls `on_progress` for all that is told of it, in this thread, until the run has
  // ended, was refused, or StopFollowing was called (Cancelled).
  absl::Status Follow(const v1::RunNowRequest& request,
                      const std::function<void(const v1::RunProgress&)>& on_progress);
  void StopFollowing();

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_CLIENT_H_
