// Every method of AlertService as a plain call: checks the request and asks the engine of alerts. The gRPC
// and HTTP faces only translate.
//
// Thread-safety: all methods, any thread. Ownership: engine, tables and clock must outlive it.
// Errors: InvalidArgument names the field; NotFound; FailedPrecondition; those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_ALERT_API_H_
#define FLEETMARK_COLLECTOR_QUERY_ALERT_API_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark {
class Clock;
}

namespace fleetmark::collector {

class AlertEngine;
class AlertTables;

class AlertApi {
 public:
  struct Options {
    AlertEngine* engine = nullptr;
    const AlertTables* tables = nullptr;
    Clock* clock = nullptr;
    std::function<std::vector<v1::ReceiverStatus>()> receivers;
  };

  explicit AlertApi(Options options) : options_(std::move(options)) {}

  absl::StatusOr<v1::ListAlertsResponse> ListAlerts(const v1::ListAlertsRequest& request) const;
  absl::StatusOr<v1::GetAlertResponse> GetAlert(const v1::GetAlertRequest& request) const;
  absl::StatusOr<v1::AckAlertResponse> AckAlert(const v1::AckAlertRequest& request) const;
  absl::StatusOr<v1::ListReceiversResponse> ListReceivers(const v1::ListReceiversRequest& request) const;
  absl::StatusOr<v1::ListSilencesResponse> ListSilences(const v1::ListSilencesRequest& request) const;
  absl::StatusOr<v1::AddSilenceResponse> AddSilence(const v1::AddSilenceRequest& request) const;
  absl::StatusOr<v1::EndSilenceResponse> EndSilence(const v1::EndSilenceRequest& request) const;

 private:
  const Options options_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ALERT_API_H_
