#include "common/http/http_client.h"

#include <httplib.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/model/labels.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxUrlBytes = 2048;
constexpr size_t kMaxAnswerBytes = 1 << 20;

absl::Status BadUrl(const std::string& text, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' ", why));
}

}  // namespace

absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& text) {
  if (text.size() > kMaxUrlBytes) return absl::InvalidArgumentError("the URL is longer than 2048 bytes");
  size_t begin = 0;
  if (absl::StartsWith(text, "http://")) begin = 7;
  if (absl::StartsWith(text, "https://")) begin = 8;
  if (begin == 0) return BadUrl(text, "must begin with http:// or https://");
  if (text.find_first_of(" \t\r\n#") != std::string::npos) return BadUrl(text, "is no URL");
  const size_t path = std::min(text.find_first_of("/?", begin), text.size());
  const std::string authority = text.substr(begin, path - begin);
  if (authority.find('@') != std::string::npos) return BadUrl(text, "must not have a user in it");
  std::string host = authority;
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    int port = 0;
    if (!absl::SimpleAtoi(authority.substr(colon + 1), &port) || port < 1 || port > 65535) {
      return BadUrl(text, "has no valid port");
    }
    host = authority.substr(0, colon);
  }
  if (host.empty()) return BadUrl(text, "has no host");
  HttpUrl url{text.substr(0, path), text.substr(path)};
  if (url.path.empty() || url.path[0] != '/') url.path.insert(0, "/");
  return url;
}

absl::StatusOr<HttpResponse> SendPost(const HttpPost& post) {
  httplib::Client client(post.url.server);
  if (!client.is_valid()) return BadUrl(post.url.server, "is no server");
  if (!post.ca_file.empty()) client.set_ca_cert_path(post.ca_file);
  const auto seconds = static_cast<time_t>(absl::ToInt64Seconds(post.timeout));
  const auto micros = static_cast<time_t>(absl::ToInt64Microseconds(post.timeout - absl::Seconds(seconds)));
  client.set_connection_timeout(seconds, micros);
  client.set_read_timeout(seconds, micros);
  client.set_write_timeout(seconds, micros);
  httplib::Headers headers;
  for (const auto& [name, value] : post.headers) headers.emplace(name, value);
  const httplib::Result result = client.Post(post.url.path, headers, post.body, post.content_type);
  if (!result) {
    const std::string what = absl::StrCat(post.url.server, ": ", httplib::to_string(result.error()));
    if (result.error() == httplib::Error::Read) {
      return absl::DeadlineExceededError(absl::StrCat(what, ": no answer in time, or it broke off"));
    }
    return absl::UnavailableError(what);
  }
  HttpResponse response;
  response.status = result->status;
  response.content_type = result->get_header_value("Content-Type");
  response.body = result->body.substr(0, kMaxAnswerBytes);
  for (const auto& [name, value] : result->headers) response.headers[name] = value;
  return response;
}

}  // namespace fleetmark
