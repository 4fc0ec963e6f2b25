// Prometheus' HTTP query API under /api/v1 (docs/prometheus.md), as Grafana's Prometheus data source and
// other clients speak it.
//
// Only reading: a form may be posted from anywhere, as with Prometheus.
// Thread-safety: the handlers run in the server's threads. At most `max_queries` evaluate at once; what comes
// on top is refused with "unavailable".
// Ownership: engine and clock must outlive the server; PrometheusRoutes too.
#ifndef FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_ROUTES_H_
#define FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_ROUTES_H_

#include <memory>
#include <string>

#include "collector/promql/engine.h"
#include "common/base/clock.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

class PrometheusRoutes {
 public:
  struct Options {
    const promql::Engine* engine = nullptr;
    const Clock* clock = nullptr;
    std::string version;  // of the collector
    int max_queries = 8;
  };

  explicit PrometheusRoutes(Options options);

  // Before HttpServer::Start.
  void Register(HttpServer& server);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_PROMETHEUS_ROUTES_H_
