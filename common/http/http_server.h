// A small HTTP/1.1 server for the JSON interface, the dashboard's files and /metrics.
//
// Limits: as many connections at once as it has threads, the others wait; 1 MiB of request body; 10 s to
// send a request or to take an answer; 1 s of idleness between requests. More than that belongs behind a
// reverse proxy. Each answer tells browsers not to guess its type, to show it in no other page's frame, to
// let no other site read it, and to send no address of ours along. Answers of text or JSON from 1 KiB on are
// sent by gzip to those who accept it.
//
// Thread-safety: handlers run in the server's threads, several at once. Ownership: the server owns its
// handlers and threads; Stop ends them.
#ifndef FLEETMARK_COMMON_HTTP_HTTP_SERVER_H_
#define FLEETMARK_COMMON_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

struct HttpRequest {
  std::string method;
  std::string path;
  std::multimap<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string remote_address;
  std::string person;  // who asks, where the guard has found that out

  // The first value of `name` in the query; empty if there is none.
  std::string Query(const std::string& name) const;

  // The header `name`, in lower case; empty if there is none.
  std::string Header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
  // When set, the body is what this writes, piece by piece, until it returns false; `body` is not used.
  // `write` returns false when the peer has gone.
  using Write = std::function<bool(const std::string&)>;
  std::function<bool(const Write&)> stream;
};

// Plain text.
HttpResponse TextResponse(int status, std::string text);

// An error becomes {"code": "...", "message": "..."} with the HTTP status that fits its code.
using HttpHandler = std::function<absl::StatusOr<HttpResponse>(const HttpRequest&)>;

struct HttpRoute {
  std::string method;
  std::string pattern;
};

// Stands before every route: answers by itself, or by `next`.
using HttpGuard =
    std::function<absl::StatusOr<HttpResponse>(HttpRequest&, const HttpRoute&, const HttpHandler& next)>;

class HttpServer {
 public:
  // `threads` serve connections; they are all made by Start.
  explicit HttpServer(size_t threads = 32);
  ~HttpServer();

  // Before Start. `pattern` is a regular expression of a whole path; see ExactPath.
  void Handle(const std::string& method, const std::string& pattern, HttpHandler handler);

  // Before Start. Of all routes, also those handled later.
  void SetGuard(HttpGuard guard);

  // All that are handled.
  const std::vector<HttpRoute>& routes() const;

  // Listens and serves in its own threads. `address` is an IP address; `port` 0 picks a free one. Returns
  // the port. Unavailable "…: Address already in use" and so on.
  absl::StatusOr<int> Start(const std::string& address, int port);

  // The same on a Unix socket at `path`, for this user alone. A socket that an earlier process left there is
  // replaced.
  absl::Status StartUnix(const std::string& path);

  // Ends the connections and the threads. Idempotent.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Asks the server at the Unix socket `path`. Unavailable when nobody listens there, DeadlineExceeded when it
// gives no answer in time or ends before; an answer of any HTTP status is OK.
absl::StatusOr<HttpResponse> AskUnix(const std::string& path, const std::string& method,
                                     const std::string& target, absl::Duration timeout);

// Whether the client takes an answer with this Content-Encoding.
bool AcceptsEncoding(const HttpRequest& request, const std::string& encoding);

// A pattern that matches `path` alone, whatever characters it has.
std::string ExactPath(const std::string& path);

// What an error looks like on HTTP, also for handlers that make their own responses.
HttpResponse ErrorResponse(const absl::Status& status);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HTTP_HTTP_SERVER_H_
