// Answers in the form of Prometheus' HTTP API, version 1.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_JSON_H_
#define FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "collector/promql/engine.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

// {"status":"success","data":…}
HttpResponse PrometheusSuccess(const std::string& data_json);

// {"status":"error","errorType":"bad_data","error":"…"} with the HTTP status that Prometheus gives.
HttpResponse PrometheusError(const absl::Status& status);

std::string JsonString(std::string_view text);
std::string JsonLabels(const promql::LabelSet& labels);
std::string JsonResult(const promql::QueryResult& result);

// Any elements, already JSON.
std::string JsonArray(const std::vector<std::string>& elements);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_JSON_H_
