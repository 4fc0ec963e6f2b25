// FleetService as JSON over HTTP (docs/api.md), with /metrics, /healthz and /readyz.
//
// Posts are refused unless their Content-Type is application/json and their Origin, if any, is this
// server's own, so that no web page elsewhere can make a browser post here.
//
// Thread-safety: the handlers run in the server's threads. Ownership: `api`, `metrics` and `clock` must
// outlive the server; HttpRoutes too.
#ifndef FLEETMARK_COLLECTOR_QUERY_HTTP_ROUTES_H_
#define FLEETMARK_COLLECTOR_QUERY_HTTP_ROUTES_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"

#include "common/http/http_server.h"

namespace fleetmark {
class Clock;
class Metrics;
}  // namespace fleetmark

namespace fleetmark::collector {

class QueryApi;

class HttpRoutes {
 public:
  struct Options {
    const QueryApi* api = nullptr;
    Metrics* metrics = nullptr;
    Clock* clock = nullptr;
    // A run that is followed sends an empty line this often, which shows whether the reader is still there.
    absl::Duration keep_alive = absl::Seconds(5);
  };

  explicit HttpRoutes(Options options);
  ~HttpRoutes();

  // Before HttpServer::Start.
  void Register(HttpServer& server);

  // Ends the answers that are still following a run. Before HttpServer::Stop, which waits for them.
  void EndStreams();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_HTTP_ROUTES_H_
