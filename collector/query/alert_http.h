// AlertService as JSON over HTTP (docs/api.md).
//
// Thread-safety: the handlers run in the server's threads. Ownership: `api` and `clock` must outlive the
// server.
#ifndef FLEETMARK_COLLECTOR_QUERY_ALERT_HTTP_H_
#define FLEETMARK_COLLECTOR_QUERY_ALERT_HTTP_H_

#include "common/http/http_server.h"

namespace fleetmark {
class Clock;
}

namespace fleetmark::collector {

class AlertApi;

// Before HttpServer::Start.
void ServeAlerts(const AlertApi& api, const Clock& clock, HttpServer& server);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ALERT_HTTP_H_
