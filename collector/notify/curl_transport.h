// Requests to other servers by libcurl: HTTP and mail. The only place that includes curl.
//
// Each call has one time limit for all of it, so that a server that hangs, answers a byte a minute, or lost
// its connection without saying so costs no more than that; it takes a bounded part of an answer, follows no
// redirect, and speaks no other protocol than it was told.
//
// Thread-safety: functions without state, but for `cancelled`, which may be set from any thread: the call
// then ends within a second. Errors: Unavailable (no connection, broken off), DeadlineExceeded (the time
// limit), Cancelled, PermissionDenied (certificate or login not accepted), InvalidArgument (no such URL, the
// mail's address was refused for good).
#ifndef FLEETMARK_COLLECTOR_NOTIFY_CURL_TRANSPORT_H_
#define FLEETMARK_COLLECTOR_NOTIFY_CURL_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::collector {

struct OutgoingRequest {
  std::string method = "POST";
  std::string url;  // http:// or https://
  std::map<std::string, std::string> headers;
  std::string body;
  absl::Duration timeout = absl::Seconds(10);
  std::string ca_file;  // for https; empty: the system's
  size_t max_answer_bytes = 64 << 10;
};

struct HttpAnswer {
  int status = 0;
  std::string body;            // cut short
  absl::Duration retry_after;  // zero: it gave none, or a date
};

absl::StatusOr<HttpAnswer> SendHttp(const OutgoingRequest& request, const std::atomic<bool>& cancelled);

struct OutgoingMail {
  std::string server;          // smtp://host:port or smtps://host:port
  bool starttls = true;        // of smtp://: required; false: in plain text, for a relay on this machine
  std::string user, password;  // empty: without login
  std::string from;
  std::vector<std::string> to;
  std::string text;  // with its headers, lines ending in CR LF
  absl::Duration timeout = absl::Seconds(30);
  std::string ca_file;
};

// OK once the server has taken it for all recipients.
absl::Status SendSmtp(const OutgoingMail& mail, const std::atomic<bool>& cancelled);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_CURL_TRANSPORT_H_
