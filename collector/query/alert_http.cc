#include "collector/query/alert_http.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "collector/query/alert_api.h"
#include "collector/query/http_json.h"
#include "collector/query/query_params.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kPrefix[] = "/api/fleetmark/v1";
constexpr size_t kPrefixParts = 4;  // of a path split at '/': "", api, fleetmark, v1

// What follows the name of the collection: alerts/ID/ack -> ID.
std::string IdIn(const HttpRequest& http) {
  const std::vector<std::string> parts = absl::StrSplit(http.path, '/');
  return parts[kPrefixParts + 1];
}

// A listing whose request comes from the query alone.
template <typename Request, typename Response>
HttpHandler Get(const AlertApi& api, const Clock& clock,
                absl::StatusOr<Response> (AlertApi::*method)(const Request&) const) {
  return [&api, &clock, method](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
    Request request;
    FM_RETURN_IF_ERROR(FillRequest(http.query, clock.Now(), {}, &request));
    return Answer((api.*method)(request));
  };
}

// `fill` sets what the path gives.
template <typename Request, typename Response>
HttpHandler Post(const AlertApi& api, absl::StatusOr<Response> (AlertApi::*method)(const Request&) const,
                 void (*fill)(const HttpRequest&, Request*)) {
  return [&api, method, fill](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
    FM_RETURN_IF_ERROR(CheckPost(http));
    Request request;
    FM_RETURN_IF_ERROR(FromJson(http, &request));
    fill(http, &request);
    return Answer((api.*method)(request));
  };
}

}  // namespace

void ServeAlerts(const AlertApi& api, const Clock& clock, HttpServer& server) {
  const auto handle = [&server](const char* method, const char* path, HttpHandler handler) {
    server.Handle(method, absl::StrCat(kPrefix, path), std::move(handler));
  };
  handle("GET", "/alerts", Get(api, clock, &AlertApi::ListAlerts));
  handle("GET", "/receivers", Get(api, clock, &AlertApi::ListReceivers));
  handle("GET", "/silences", Get(api, clock, &AlertApi::ListSilences));
  handle("GET", "/alerts/([^/]+)", [&api](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
    v1::GetAlertRequest request;
    request.set_alert_id(IdIn(http));
    return Answer(api.GetAlert(request));
  });
  handle("POST", "/alerts/([^/]+)/ack",
         Post<v1::AckAlertRequest, v1::AckAlertResponse>(
             api, &AlertApi::AckAlert, [](const HttpRequest& http, v1::AckAlertRequest* request) {
               request->set_alert_id(IdIn(http));
             }));
  handle("POST", "/silences",
         Post<v1::AddSilenceRequest, v1::AddSilenceResponse>(
             api, &AlertApi::AddSilence, [](const HttpRequest&, v1::AddSilenceRequest*) {}));
  handle("POST", "/silences/([^/]+)/end",
         Post<v1::EndSilenceRequest, v1::EndSilenceResponse>(
             api, &AlertApi::EndSilence, [](const HttpRequest& http, v1::EndSilenceRequest* request) {
               request->set_silence_id(IdIn(http));
             }));
}

}  // namespace fleetmark::collector
