#include "collector/query/http_routes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "collector/query/answer_cache.h"
#include "collector/query/change_streams.h"
#include "collector/query/http_json.h"
#include "collector/query/progress_buffer.h"
#include "collector/query/query_api.h"
#include "collector/query/query_params.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr char kPrefix[] = "/api/fleetmark/v1";
constexpr size_t kPrefixParts = 4;  // of a path split at '/': "", api, fleetmark, v1

// The part of the path after the prefix: nodes/NAME/… -> {"nodes", "NAME", …}.
std::vector<std::string> PathParts(const HttpRequest& request) {
  std::vector<std::string> parts = absl::StrSplit(request.path, '/');
  parts.erase(parts.begin(), parts.begin() + kPrefixParts);
  return parts;
}

// `a.X` and `b.X` are of one group, and X alone of both.
absl::Status FillCompare(const QueryParams& params, absl::Time now, v1::CompareRequest* request) {
  QueryParams of_a, of_b;
  for (const auto& [name, value] : params) {
    const bool a = absl::StartsWith(name, "a."), b = absl::StartsWith(name, "b.");
    const std::string bare = a || b ? name.substr(2) : name;
    if (!b) of_a.emplace(bare, value);
    if (!a) of_b.emplace(bare, value);
  }
  FM_RETURN_IF_ERROR(Annotate(FillRequest(of_a, now, {}, request->mutable_a()), "a"));
  return Annotate(FillRequest(of_b, now, {}, request->mutable_b()), "b");
}

absl::StatusOr<uint64_t> ParseSeriesId(const std::string& text) {
  uint64_t id = 0;
  if (!absl::SimpleAtoi(text, &id))
    return absl::InvalidArgumentError(absl::StrCat("series id: '", text, "'"));
  return id;
}

}  // namespace

class HttpRoutes::Impl : public std::enable_shared_from_this<HttpRoutes::Impl> {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        api_(*options_.api),
        changes_(std::make_shared<ChangeStreams>(
            ChangeStreams::Options{.api = options_.api,
                                   .clock = options_.clock,
                                   .interval = std::min(options_.keep_alive, absl::Seconds(2)),
                                   .keep_alive = options_.keep_alive})),
        overviews_({.clock = options_.clock, .version = [this] { return api_.Version(); }}) {}

  void Register(HttpServer& server) {
    Get(server, "/status", &QueryApi::GetStatus);
    Get(server, "/nodes", &QueryApi::ListNodes);
    Get(server, "/series", &QueryApi::ListSeries);
    Get(server, "/latest", &QueryApi::ListLatest);
    Get(server, "/quantiles", &QueryApi::ReadQuantiles);
    Get(server, "/runs", &QueryApi::ListRuns);
    Get(server, "/findings", &QueryApi::ListFindings);
    Get(server, "/events", &QueryApi::ListEvents);
    GetOverview(server, "/fleet", &QueryApi::GetFleet);
    GetOverview(server, "/benchmarks", &QueryApi::ListBenchmarks);
    Handle(server, "GET", "/changes", &Impl::FollowChanges);
    Handle(server, "GET", "/compare", &Impl::Compare);
    Handle(server, "GET", "/series/([^/]+)/curve", &Impl::GetCurve);
    Handle(server, "GET", "/nodes/([^/]+)", &Impl::GetNode);
    Handle(server, "GET", "/series/([^/]+)/samples", &Impl::GetSamples);
    Handle(server, "GET", "/runs/([^/]+)", &Impl::GetRun);
    Handle(server, "POST", "/events", &Impl::AddEvent);
    Handle(server, "POST", "/nodes/([^/]+)/run/([^/]+)", &Impl::RunNow);
    server.Handle("GET", "/healthz", [](const HttpRequest&) { return TextResponse(200, "ok\n"); });
    server.Handle("GET", "/readyz", [self = shared_from_this()](const HttpRequest&) {
      const absl::Status ready = self->api_.Ready();
      return ready.ok() ? TextResponse(200, "ok\n") : TextResponse(503, absl::StrCat(ready.message(), "\n"));
    });
    server.Handle("GET", "/metrics", [self = shared_from_this()](const HttpRequest&) {
      HttpResponse response = TextResponse(200, self->options_.metrics->Serialize());
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return response;
    });
  }

  void EndStreams() {
    changes_->End();
    std::set<std::shared_ptr<ProgressBuffer>> streams;
    {
      MutexLock lock(mu_);
      ended_ = true;
      streams = streams_;
    }
    for (const auto& stream : streams) stream->Close(Stopping());
  }

 private:
  static absl::Status Stopping() { return absl::UnavailableError("the collector is stopping"); }

  // An answer that follows a run; forgotten when the server lets go of it, however that comes.
  struct OpenStream {
    OpenStream(std::shared_ptr<Impl> r, std::shared_ptr<ProgressBuffer> b)
        : routes(std::move(r)), buffer(std::move(b)) {}
    ~OpenStream() {
      routes->RemoveStream(buffer);
      if (!request_id.empty()) routes->api_.Unfollow(request_id);
    }
    OpenStream(const OpenStream&) = delete;
    OpenStream& operator=(const OpenStream&) = delete;

    const std::shared_ptr<Impl> routes;
    const std::shared_ptr<ProgressBuffer> buffer;
    std::string request_id;
  };

  using Method = absl::StatusOr<HttpResponse> (Impl::*)(const HttpRequest&);

  void Handle(HttpServer& server, const std::string& method, const std::string& path, Method handler) {
    server.Handle(method, absl::StrCat(kPrefix, path),
                  [self = shared_from_this(), handler](const HttpRequest& request) {
                    return ((*self).*handler)(request);
                  });
  }

  // A listing whose request comes from the query alone.
  template <typename Request, typename Response>
  void Get(HttpServer& server, const std::string& path,
           absl::StatusOr<Response> (QueryApi::*method)(const Request&) const) {
    HandleQuery<Request>(server, path, [this, method](const HttpRequest&, const Request& request) {
      return Answer((api_.*method)(request));
    });
  }

  // The same for what is dear to make and asked for by every page.
  template <typename Request, typename Response>
  void GetOverview(HttpServer& server, const std::string& path,
                   absl::StatusOr<Response> (QueryApi::*method)(const Request&) const) {
    HandleQuery<Request>(server, path, [this, method](const HttpRequest& http, const Request& request) {
      std::string key = http.path;
      for (const auto& [name, value] : http.query) absl::StrAppend(&key, "\n", name, "=", value);
      return overviews_.Get(http, key, [&]() -> absl::StatusOr<std::string> {
        FM_ASSIGN_OR_RETURN(const Response response, (api_.*method)(request));
        return ToJson(response);
      });
    });
  }

  // `respond(http, request)` is called only while this object lives.
  template <typename Request, typename Respond>
  void HandleQuery(HttpServer& server, const std::string& path, Respond respond) {
    server.Handle(
        "GET", absl::StrCat(kPrefix, path),
        [self = shared_from_this(), respond](const HttpRequest& http) -> absl::StatusOr<HttpResponse> {
          Request request;
          FM_RETURN_IF_ERROR(FillRequest(http.query, self->options_.clock->Now(), {}, &request));
          return respond(http, request);
        });
  }

  absl::StatusOr<HttpResponse> GetNode(const HttpRequest& http) {
    FM_RETURN_IF_ERROR(NoQuery(http));
    v1::ListNodesRequest request;
    request.set_name(PathParts(http)[1]);
    FM_ASSIGN_OR_RETURN(const v1::ListNodesResponse listing, api_.ListNodes(request));
    if (listing.nodes().empty()) return absl::NotFoundError(absl::StrCat("node '", request.name(), "'"));
    return Answer(absl::StatusOr<v1::Node>(listing.nodes(0)));
  }

  absl::StatusOr<HttpResponse> GetSamples(const HttpRequest& http) {
    v1::ReadSamplesRequest request;
    FM_RETURN_IF_ERROR(FillRequest(http.query, options_.clock->Now(), {"series_id"}, &request));
    FM_ASSIGN_OR_RETURN(const uint64_t id, ParseSeriesId(PathParts(http)[1]));
    request.set_series_id(id);
    return Answer(api_.ReadSamples(request));
  }

  absl::StatusOr<HttpResponse> GetCurve(const HttpRequest& http) {
    v1::ReadCurveRequest request;
    FM_RETURN_IF_ERROR(FillRequest(http.query, options_.clock->Now(), {"series_id"}, &request));
    FM_ASSIGN_OR_RETURN(const uint64_t id, ParseSeriesId(PathParts(http)[1]));
    request.set_series_id(id);
    return Answer(api_.ReadCurve(request));
  }

  absl::StatusOr<HttpResponse> Compare(const HttpRequest& http) {
    v1::CompareRequest request;
    FM_RETURN_IF_ERROR(FillCompare(http.query, options_.clock->Now(), &request));
    return Answer(api_.Compare(request));
  }

  absl::StatusOr<HttpResponse> FollowChanges(const HttpRequest& http) {
    FM_RETURN_IF_ERROR(NoQuery(http));
    return changes_->Open();
  }

  absl::StatusOr<HttpResponse> GetRun(const HttpRequest& http) {
    FM_RETURN_IF_ERROR(NoQuery(http));
    v1::GetRunRequest request;
    request.set_run_id(PathParts(http)[1]);
    return Answer(api_.GetRun(request));
  }

  absl::StatusOr<HttpResponse> AddEvent(const HttpRequest& http) {
    FM_RETURN_IF_ERROR(CheckPost(http));
    FM_RETURN_IF_ERROR(NoQuery(http));
    v1::AddEventRequest request;
    FM_RETURN_IF_ERROR(FromJson(http, &request));
    return Answer(api_.AddEvent(request));
  }

  absl::StatusOr<HttpResponse> RunNow(const HttpRequest& http) {
    FM_RETURN_IF_ERROR(CheckPost(http));
    FM_RETURN_IF_ERROR(NoQuery(http));
    v1::RunNowRequest request;
    FM_RETURN_IF_ERROR(FromJson(http, &request));
    const std::vector<std::string> parts = PathParts(http);  // nodes, NAME, run, BENCHMARK
    request.set_node(parts[1]);
    request.set_benchmark(parts[3]);
    const auto buffer = std::make_shared<ProgressBuffer>();
    const auto stream = std::make_shared<OpenStream>(shared_from_this(), buffer);
    FM_RETURN_IF_ERROR(AddStream(buffer));
    FM_ASSIGN_OR_RETURN(stream->request_id,
                        api_.RunNow(request, {[buffer](const v1::RunProgress& p) { buffer->Push(p); },
                                              [buffer](const absl::Status& end) { buffer->Close(end); }}));
    HttpResponse response;
    response.content_type = "application/x-ndjson";
    response.headers["Cache-Control"] = "no-store";
    response.stream = [stream](const HttpResponse::Write& write) {
      return stream->routes->WriteNext(*stream->buffer, write);
    };
    return response;
  }

  // False after the last line. A run that can't be followed to its end ends with a line like an error's
  // body.
  bool WriteNext(ProgressBuffer& buffer, const HttpResponse::Write& write) {
    v1::RunProgress progress;
    absl::Status why;
    switch (buffer.Next(*options_.clock, options_.keep_alive, &progress, &why)) {
      case ProgressBuffer::Got::kClosed:
        if (!why.ok()) write(ErrorResponse(why).body);
        return false;
      case ProgressBuffer::Got::kTimeout:
        return write("\n");
      case ProgressBuffer::Got::kMessage:
        break;
    }
    const absl::StatusOr<std::string> line = ToJson(progress);
    return line.ok() && write(*line) && !IsLast(progress);
  }

  absl::Status AddStream(const std::shared_ptr<ProgressBuffer>& stream) {
    MutexLock lock(mu_);
    if (ended_) return Stopping();
    streams_.insert(stream);
    return absl::OkStatus();
  }

  void RemoveStream(const std::shared_ptr<ProgressBuffer>& stream) {
    stream->Close(absl::OkStatus());
    MutexLock lock(mu_);
    streams_.erase(stream);
  }

  absl::Status NoQuery(const HttpRequest& http) const {
    v1::GetStatusRequest nothing;
    return FillRequest(http.query, options_.clock->Now(), {}, &nothing);
  }

  const Options options_;
  const QueryApi& api_;
  const std::shared_ptr<ChangeStreams> changes_;
  AnswerCache overviews_;
  Mutex mu_;
  std::set<std::shared_ptr<ProgressBuffer>> streams_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

HttpRoutes::HttpRoutes(Options options) : impl_(std::make_shared<Impl>(std::move(options))) {}
HttpRoutes::~HttpRoutes() { EndStreams(); }
void HttpRoutes::Register(HttpServer& server) { impl_->Register(server); }
void HttpRoutes::EndStreams() { impl_->EndStreams(); }

}  // namespace fleetmark::collector
