// Posting to other HTTP servers: one request, one answer.
//
// Thread-safety: functions without state; they block until the answer or the timeout.
// Errors: InvalidArgument for a URL that is none; Unavailable when the server can't be reached or breaks off;
// DeadlineExceeded when it does not answer in time. An answer of any HTTP status is OK. Redirects are not
// followed.
#ifndef FLEETMARK_COMMON_HTTP_HTTP_CLIENT_H_
#define FLEETMARK_COMMON_HTTP_HTTP_CLIENT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/http/http_server.h"

namespace fleetmark {

struct HttpUrl {
  std::string server;  // scheme, host and port: "http://10.0.0.1:8428"
  std::string path;    // with its query; at least "/"
};

// http:// or https://, a host (an IPv6 address in brackets), perhaps a port and a path. No user and password:
// they would show in logs.
absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& text);

struct HttpPost {
  HttpUrl url;
  std::string content_type;
  std::map<std::string, std::string> headers;
  std::string body;
  absl::Duration timeout = absl::Seconds(30);
  std::string ca_file;  // for https; empty: the system's
};
absl::StatusOr<HttpResponse> SendPost(const HttpPost& post);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_HTTP_HTTP_CLIENT_H_
