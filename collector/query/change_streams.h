// Tells those who watch that there is something new: server-sent events (HTML standard, chapter "Server-sent
// events") with the collector's status, once at the start and then whenever QueryApi::Version has changed, at
// most every `interval`. In between, a comment line every `keep_alive` shows whether the reader is still
// there.
//
// Each stream holds a thread of the server, so they are bounded: one more is ResourceExhausted, and its page
// asks from time to time instead.
//
// Thread-safety: all methods, any thread. Ownership: `api` and `clock` must outlive the streams.
#ifndef FLEETMARK_COLLECTOR_QUERY_CHANGE_STREAMS_H_
#define FLEETMARK_COLLECTOR_QUERY_CHANGE_STREAMS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/http/http_server.h"

namespace fleetmark::collector {

class QueryApi;

class ChangeStreams : public std::enable_shared_from_this<ChangeStreams> {
 public:
  struct Options {
    const QueryApi* api = nullptr;
    Clock* clock = nullptr;
    absl::Duration interval = absl::Seconds(2);
    absl::Duration keep_alive = absl::Seconds(5);
    size_t max_streams = 24;
  };

  explicit ChangeStreams(Options options) : options_(options) {}

  absl::StatusOr<HttpResponse> Open();

  // Ends all streams; no new one begins.
  void End();

 private:
  struct Stream;

  bool WriteNext(Stream& stream, const HttpResponse::Write& write);
  // False when the streams have ended.
  bool Wait();

  const Options options_;
  Mutex mu_;
  CondVar end_;
  size_t open_ ABSL_GUARDED_BY(mu_) = 0;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_CHANGE_STREAMS_H_
