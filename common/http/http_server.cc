#include "common/http/http_server.h"

#include <errno.h>
#include <httplib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/quote_json.h"
#include "common/base/status.h"
#include "common/http/gzip.h"
#include "common/model/labels.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxBodyBytes = 1024 * 1024;
constexpr time_t kTimeoutSeconds = 10;
constexpr time_t kKeepAliveSeconds = 1;

// Below this compression saves less than it costs.
constexpr size_t kLeastToCompress = 1024;
constexpr int kFastest = 1;  // gzip's level: an answer is made anew for each request
// httplib would compress by itself, by Brotli at its slowest level, seconds for a megabyte, and what is
// compressed already once more. So it does not get to see what the client accepts.
constexpr char kAcceptEncoding[] = "Accept-Encoding";
constexpr char kHiddenAcceptEncoding[] = "X-Fleetmark-Accept-Encoding";

// Of every answer that says nothing else of it.
constexpr std::pair<const char*, const char*> kForBrowsers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"}};

int HttpStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

bool IsText(const std::string& type) {
  return absl::StartsWith(type, "text/") || absl::StartsWith(type, "application/json");
}

void Compress(const HttpRequest& request, HttpResponse* response) {
  if (response->stream || response->body.size() < kLeastToCompress || !IsText(response->content_type)) return;
  if (response->headers.contains("Content-Encoding")) return;
  response->headers["Vary"] = kAcceptEncoding;
  if (!AcceptsEncoding(request, "gzip")) return;
  std::string compressed = Gzip(response->body, kFastest);
  if (compressed.empty()) return;
  response->body = std::move(compressed);
  response->headers["Content-Encoding"] = "gzip";
}

HttpRequest ToRequest(const httplib::Request& in) {
  HttpRequest out;
  out.method = in.method;
  out.path = in.path;
  out.query.insert(in.params.begin(), in.params.end());
  for (const auto& [name, value] : in.headers) out.headers[absl::AsciiStrToLower(name)] = value;
  if (const auto hidden = out.headers.extract(absl::AsciiStrToLower(kHiddenAcceptEncoding)); !hidden.empty())
    out.headers["accept-encoding"] = hidden.mapped();
  out.body = in.body;
  out.remote_address = in.remote_addr;
  return out;
}

void HideAcceptEncoding(httplib::Request& request) {
  request.headers.erase(kHiddenAcceptEncoding);
  const auto accepted = request.headers.find(kAcceptEncoding);
  if (accepted == request.headers.end()) return;
  const std::string value = accepted->second;
  request.headers.erase(kAcceptEncoding);
  request.headers.emplace(kHiddenAcceptEncoding, value);
}

void FillResponse(HttpResponse&& in, httplib::Response& out) {
  out.status = in.status;
  for (const auto& [name, value] : in.headers) out.set_header(name, value);
  if (!in.stream) {
    out.set_content(in.body, in.content_type);
    return;
  }
  out.set_chunked_content_provider(in.content_type, [stream = std::move(in.stream)](size_t,
                                                                                    httplib::DataSink& sink) {
    const auto write = [&sink](const std::string& piece) { return sink.write(piece.data(), piece.size()); };
    if (stream(write)) return true;
    sink.done();
    return true;
  });
}

}  // namespace

std::string HttpRequest::Query(const std::string& name) const {
  const auto it = query.find(name);
  return it == query.end() ? std::string() : it->second;
}

bool AcceptsEncoding(const HttpRequest& request, const std::string& encoding) {
  const auto accepted = request.headers.find("accept-encoding");
  if (accepted == request.headers.end()) return false;
  for (const absl::string_view part : absl::StrSplit(accepted->second, ',')) {
    const std::vector<absl::string_view> pieces = absl::StrSplit(part, ';');
    if (absl::StripAsciiWhitespace(pieces[0]) != encoding) continue;
    for (size_t i = 1; i < pieces.size(); ++i) {
      double quality = 1;
      const absl::string_view piece = absl::StripAsciiWhitespace(pieces[i]);
      if (absl::StartsWith(piece, "q=") && absl::SimpleAtod(piece.substr(2), &quality) && quality <= 0)
        return false;
    }
    return true;
  }
  return false;
}

std::string HttpRequest::Header(const std::string& name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? std::string() : it->second;
}

std::string ExactPath(const std::string& path) {
  std::string pattern;
  for (char c : path) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '/' && c != '_' && c != '-')
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}

HttpResponse TextResponse(int status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

HttpResponse ErrorResponse(const absl::Status& status) {
  HttpResponse response;
  response.status = HttpStatus(status.code());
  bool repaired = false;
  response.body = absl::StrCat("{\"code\":\"", absl::StatusCodeToString(status.code()),
                               "\",\"message\":", QuoteJson(RepairUtf8(Message(status), &repaired)), "}\n");
  return response;
}

struct HttpServer::Impl {
  httplib::Server server;
  std::vector<HttpRoute> routes;
  HttpGuard guard;
  std::thread thread;
};

HttpServer::HttpServer(size_t threads) : impl_(std::make_unique<Impl>()) {
  httplib::Server& server = impl_->server;
  server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  server.set_payload_max_length(kMaxBodyBytes);
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  // Short, since an idle connection holds a thread: a probe must not wait for scrapers that keep theirs open.
  server.set_keep_alive_timeout(kKeepAliveSeconds);
  // Without this a body of unknown length would be read until the client closes.
  server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    HideAcceptEncoding(const_cast<httplib::Request&>(request));  // httplib's own object, which is not const
    const bool has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    if (!has_body || request.has_header("Content-Length") || request.has_header("Transfer-Encoding")) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    response.set_content(
        ErrorResponse(absl::InvalidArgumentError("a Content-Length is needed, 0 for no body")).body,
        "application/json");
    response.status = 411;
    response.set_header("Connection", "close");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
    for (const auto& [name, value] : kForBrowsers) {
      if (!response.has_header(name)) response.set_header(name, value);
    }
  });
  server.set_tcp_nodelay(true);
  // httplib sets SO_REUSEPORT by default, with which two collectors would share a port in silence.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    const absl::Status status =
        response.status == 404 ? absl::NotFoundError(absl::StrCat("nothing is served at ", request.path))
                               : absl::InvalidArgumentError(absl::StrCat("HTTP status ", response.status));
    response.set_content(ErrorResponse(status).body, "application/json");
  });
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Handle(const std::string& method, const std::string& pattern, HttpHandler handler) {
  const HttpRoute route{method, pattern};
  impl_->routes.push_back(route);
  const auto serve = [this, route, handler = std::move(handler)](const httplib::Request& request,
                                                                 httplib::Response& response) {
    HttpRequest ours = ToRequest(request);
    const HttpGuard& guard = impl_->guard;
    absl::StatusOr<HttpResponse> answer = guard ? guard(ours, route, handler) : handler(ours);
    HttpResponse whole = answer.ok() ? *std::move(answer) : ErrorResponse(answer.status());
    Compress(ours, &whole);
    FillResponse(std::move(whole), response);
  };
  if (method == "GET") impl_->server.Get(pattern, serve);
  // Read by a content receiver, since httplib would refuse forms above 8 KiB.
  const auto serve_body = [serve](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& read) {
    httplib::Request with_body = request;
    const bool complete = read([&with_body](const char* data, size_t size) {
      if (with_body.body.size() + size > kMaxBodyBytes) return false;
      with_body.body.append(data, size);
      return true;
    });
    if (complete) return serve(with_body, response);
    if (response.status < 400) response.status = with_body.body.empty() ? 400 : 413;
  };
  if (method == "POST") impl_->server.Post(pattern, serve_body);
}

void HttpServer::SetGuard(HttpGuard guard) { impl_->guard = std::move(guard); }

const std::vector<HttpRoute>& HttpServer::routes() const { return impl_->routes; }

absl::StatusOr<int> HttpServer::Start(const std::string& address, int port) {
  errno = 0;
  const int bound = port == 0 ? impl_->server.bind_to_any_port(address)
                              : (impl_->server.bind_to_port(address, port) ? port : -1);
  if (bound < 0) return Annotate(ErrnoStatus(errno, absl::StrCat("listen on ", address, ":", port)), "HTTP");
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  return bound;
}

absl::Status HttpServer::StartUnix(const std::string& path) {
  sockaddr_un address;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is too long for a socket's path, at most ",
                                                   sizeof address.sun_path - 1, " bytes"));
  }
  unlink(path.c_str());
  impl_->server.set_address_family(AF_UNIX);
  errno = 0;
  // Others must not reach it in the moment before chmod.
  const mode_t before = umask(0177);
  const bool bound = impl_->server.bind_to_port(path, 1);  // the port is not used
  umask(before);
  if (!bound) return ErrnoStatus(errno, absl::StrCat("listen on ", path));
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> AskUnix(const std::string& path, const std::string& method,
                                     const std::string& target, absl::Duration timeout) {
  httplib::Client client(path);
  client.set_address_family(AF_UNIX);
  const auto seconds = static_cast<time_t>(absl::ToInt64Seconds(timeout));
  const auto micros = static_cast<time_t>(absl::ToInt64Microseconds(timeout - absl::Seconds(seconds)));
  client.set_connection_timeout(seconds, micros);
  client.set_read_timeout(seconds, micros);
  client.set_write_timeout(seconds, micros);
  const httplib::Result result = method == "POST" ? client.Post(target) : client.Get(target);
  if (result) {
    HttpResponse response;
    response.status = result->status;
    response.content_type = result->get_header_value("Content-Type");
    response.body = result->body;
    for (const auto& [name, value] : result->headers) response.headers[name] = value;
    return response;
  }
  if (result.error() == httplib::Error::Read) {
    return absl::DeadlineExceededError(
        absl::StrCat(path, ": no answer within ", absl::FormatDuration(timeout), ", or it ended before"));
  }
  return absl::UnavailableError(absl::StrCat(path, ": ", httplib::to_string(result.error())));
}

void HttpServer::Stop() {
  // stop() does nothing before the listening thread runs.
  while (impl_->thread.joinable() && !impl_->server.is_running()) std::this_thread::yield();
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace fleetmark
