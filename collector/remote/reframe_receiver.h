// Takes in what ReFrame's httpjson log handler posts for each test, as imported runs; a whole run report is
// taken too.
//
// Bounds: the HTTP server's on the body (1 MiB), those of common/history. Answers: 204 all that was measured
// is stored, or nothing was measured; 400 the body is none, or some of it can't be taken (the first reasons;
// the rest is stored); 429 try again, as ReFrame does for this status alone; 500 the store failed.
// Thread-safety: TakeReframeRecord from any thread, if `import` is.
#ifndef FLEETMARK_COLLECTOR_REMOTE_REFRAME_RECEIVER_H_
#define FLEETMARK_COLLECTOR_REMOTE_REFRAME_RECEIVER_H_

#include "collector/remote/write_receiver.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

HttpResponse TakeReframeRecord(const HttpRequest& request, const ImportFn& import);

// Serves it at /api/v1/reframe. Before HttpServer::Start.
void ServeReframeRecords(HttpServer& server, ImportFn import);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_REMOTE_REFRAME_RECEIVER_H_
