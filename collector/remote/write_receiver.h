// Takes in what Prometheus, vmagent and others send by remote write 1.0, as imported runs.
//
// Bounds: the HTTP server's on the body (1 MiB), kMaxWriteBytes decompressed, kMaxMetrics samples.
// Answers: 204 all is stored; 400 the body is none, or some samples can't be taken (their number and the
// first reasons; the rest is stored); 429 and 503 try again. Thread-safety: TakeRemoteWrite from any thread,
// if `import` is.
#ifndef FLEETMARK_COLLECTOR_REMOTE_WRITE_RECEIVER_H_
#define FLEETMARK_COLLECTOR_REMOTE_WRITE_RECEIVER_H_

#include <functional>

#include "absl/status/statusor.h"

#include "common/http/http_server.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

using ImportFn = std::function<absl::StatusOr<v1::ImportRunsResponse>(const v1::ImportRunsRequest&)>;

inline constexpr size_t kMaxMetrics = 100'000;  // of one request

HttpResponse TakeRemoteWrite(const HttpRequest& request, const ImportFn& import);

// Serves it at /api/v1/write. Before HttpServer::Start.
void ServeRemoteWrite(HttpServer& server, ImportFn import);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_REMOTE_WRITE_RECEIVER_H_
