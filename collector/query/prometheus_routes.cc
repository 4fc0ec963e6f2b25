#include "collector/query/prometheus_routes.h"

#include <atomic>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "collector/promql/parser.h"
#include "collector/query/prometheus_json.h"
#include "collector/query/prometheus_params.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

using promql::Matchers;
using promql::SelectedSeries;

constexpr char kPrefix[] = "/api/v1";
constexpr size_t kLabelPart = 4;  // of /api/v1/label/NAME/values split at '/'
constexpr int64_t kDayMs = 86'400'000;
// The release of Prometheus whose behaviour the tests compare with.
constexpr char kPrometheusVersion[] = "2.42.0";

std::vector<std::string> Quote(const std::set<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(JsonString(text));
  return out;
}

}  // namespace

class PrometheusRoutes::Impl : public std::enable_shared_from_this<PrometheusRoutes::Impl> {
 public:
  explicit Impl(Options options) : options_(std::move(options)), engine_(*options_.engine) {}

  void Register(HttpServer& server) {
    const std::pair<const char*, Method> both[] = {{"/query", &Impl::Query},
                                                   {"/query_range", &Impl::QueryRange},
                                                   {"/series", &Impl::Series},
                                                   {"/labels", &Impl::LabelNames},
                                                   {"/query_exemplars", &Impl::Exemplars},
                                                   {"/format_query", &Impl::FormatQuery}};
    for (const auto& [path, method] : both) {
      Handle(server, "GET", path, method);
      Handle(server, "POST", path, method);
    }
    Handle(server, "GET", "/label/([^/]+)/values", &Impl::LabelValues);
    Handle(server, "GET", "/metadata", &Impl::Metadata);
    Handle(server, "GET", "/status/buildinfo", &Impl::BuildInfo);
    Handle(server, "GET", "/rules", &Impl::Rules);
    Handle(server, "GET", "/alerts", &Impl::Alerts);
  }

 private:
  // The data of a successful answer.
  using Answer = absl::StatusOr<std::string>;
  using Method = Answer (Impl::*)(const PrometheusParams&, const HttpRequest&) const;

  // One of the queries that may evaluate at once.
  class Slot {
   public:
    Slot(std::atomic<int>& running, int max) : running_(running), taken_(running.fetch_add(1) < max) {}
    ~Slot() { running_.fetch_sub(1); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    bool taken() const { return taken_; }

   private:
    std::atomic<int>& running_;
    const bool taken_;
  };

  void Handle(HttpServer& server, const std::string& method, const std::string& path, Method handler) {
    server.Handle(method, absl::StrCat(kPrefix, path),
                  [self = shared_from_this(), handler](const HttpRequest& request) {
                    return self->Serve(request, handler);
                  });
  }

  HttpResponse Serve(const HttpRequest& request, Method handler) const {
    const absl::StatusOr<PrometheusParams> params = PrometheusParams::From(request);
    if (!params.ok()) return PrometheusError(params.status());
    const Slot slot(running_, options_.max_queries);
    if (!slot.taken()) {
      return PrometheusError(absl::UnavailableError("too many queries at once; try again later"));
    }
    const Answer data = (this->*handler)(*params, request);
    return data.ok() ? PrometheusSuccess(*data) : PrometheusError(data.status());
  }

  int64_t NowMs() const { return absl::ToUnixMillis(options_.clock->Now()); }

  absl::StatusOr<absl::Duration> Timeout(const PrometheusParams& params) const {
    const int64_t configured = absl::ToInt64Milliseconds(engine_.query_options().timeout);
    FM_ASSIGN_OR_RETURN(const int64_t ms, params.DurationMs("timeout", configured));
    return absl::Milliseconds(ms);
  }

  Answer Query(const PrometheusParams& params, const HttpRequest&) const {
    FM_ASSIGN_OR_RETURN(const int64_t time_ms, params.TimeMs("time", NowMs()));
    FM_ASSIGN_OR_RETURN(const absl::Duration timeout, Timeout(params));
    const auto result = engine_.Instant(params.Text("query"), time_ms, timeout);
    return Result(result);
  }

  Answer QueryRange(const PrometheusParams& params, const HttpRequest&) const {
    promql::QueryRange range;
    FM_ASSIGN_OR_RETURN(range.start_ms, params.RequiredTimeMs("start"));
    FM_ASSIGN_OR_RETURN(range.end_ms, params.RequiredTimeMs("end"));
    if (range.end_ms < range.start_ms) {
      return InvalidParameter("end",
                              absl::InvalidArgumentError("end timestamp must not be before start time"));
    }
    FM_ASSIGN_OR_RETURN(range.step_ms, params.DurationMs("step", 0));
    if (range.step_ms <= 0) {
      return InvalidParameter("step",
                              absl::InvalidArgumentError("zero or negative query resolution step widths "
                                                         "are not accepted. Try a positive integer"));
    }
    FM_ASSIGN_OR_RETURN(const absl::Duration timeout, Timeout(params));
    return Result(engine_.Range(params.Text("query"), range, timeout));
  }

  static Answer Result(const absl::StatusOr<promql::QueryResult>& result) {
    if (result.ok()) return JsonResult(*result);
    // What is wrong with the query itself; other parameters were checked before.
    const bool parse = absl::IsInvalidArgument(result.status()) &&
                       result.status().message().find("maximum resolution") == absl::string_view::npos;
    return parse ? InvalidParameter("query", result.status()) : result.status();
  }

  Answer FormatQuery(const PrometheusParams& params, const HttpRequest&) const {
    const absl::StatusOr<promql::ExprPtr> expr = promql::ParseQuery(params.Text("query"));
    if (!expr.ok()) return InvalidParameter("query", expr.status());
    return JsonString(promql::ToString(**expr));
  }

  // The series that any of the `match[]` selects, each once; without any, all.
  absl::StatusOr<std::vector<SelectedSeries>> Matching(const PrometheusParams& params) const {
    FM_ASSIGN_OR_RETURN(const int64_t end, params.TimeMs("end", NowMs()));
    FM_ASSIGN_OR_RETURN(const int64_t start, params.TimeMs("start", end - kDayMs));
    std::vector<Matchers> wanted;
    for (const std::string& text : params.All("match[]")) {
      absl::StatusOr<Matchers> matchers = promql::ParseSelector(text);
      if (!matchers.ok()) return InvalidParameter("match[]", matchers.status());
      wanted.push_back(*std::move(matchers));
    }
    if (wanted.empty()) wanted.emplace_back();
    std::map<promql::LabelSet, SelectedSeries> found;
    for (const Matchers& matchers : wanted) {
      absl::StatusOr<std::vector<SelectedSeries>> selected =
          engine_.source().Select(matchers, {start, end}, engine_.query_options().max_series);
      if (absl::IsResourceExhausted(selected.status())) {
        return absl::FailedPreconditionError(selected.status().message());
      }
      FM_RETURN_IF_ERROR(selected.status());
      for (SelectedSeries& series : *selected) found.emplace(*series.metric, std::move(series));
    }
    std::vector<SelectedSeries> out;
    for (auto& [labels, series] : found) out.push_back(std::move(series));
    return out;
  }

  Answer Series(const PrometheusParams& params, const HttpRequest&) const {
    if (params.All("match[]").empty()) return absl::InvalidArgumentError("no match[] parameter provided");
    FM_ASSIGN_OR_RETURN(const std::vector<SelectedSeries> series, Matching(params));
    std::vector<std::string> out;
    for (const SelectedSeries& one : series) out.push_back(JsonLabels(*one.metric));
    return JsonArray(out);
  }

  Answer LabelNames(const PrometheusParams& params, const HttpRequest&) const {
    FM_ASSIGN_OR_RETURN(const std::vector<SelectedSeries> series, Matching(params));
    std::set<std::string> names;
    for (const SelectedSeries& one : series) {
      for (const promql::Label& label : *one.metric) names.insert(label.name);
    }
    return JsonArray(Quote(names));
  }

  Answer LabelValues(const PrometheusParams& params, const HttpRequest& request) const {
    const std::vector<std::string> parts = absl::StrSplit(request.path, '/');
    const std::string& name = parts[kLabelPart];
    if (!promql::IsLabelName(name)) {
      return absl::InvalidArgumentError(absl::StrCat("invalid label name: ", promql::Quoted(name)));
    }
    FM_ASSIGN_OR_RETURN(const std::vector<SelectedSeries> series, Matching(params));
    std::set<std::string> values;
    for (const SelectedSeries& one : series) {
      if (const std::string_view value = one.metric->Get(name); !value.empty()) values.emplace(value);
    }
    return JsonArray(Quote(values));
  }

  Answer Metadata(const PrometheusParams& params, const HttpRequest&) const {
    FM_ASSIGN_OR_RETURN(const int64_t limit, params.Integer("limit", -1));
    const std::string only = params.Text("metric");
    FM_ASSIGN_OR_RETURN(const std::vector<promql::MetricMetadata> all, engine_.source().Metadata());
    std::vector<std::string> entries;
    for (const promql::MetricMetadata& metric : all) {
      if (limit >= 0 && static_cast<int64_t>(entries.size()) >= limit) break;
      if (!only.empty() && metric.name != only) continue;
      entries.push_back(absl::StrCat(JsonString(metric.name), ":[{\"type\":\"gauge\",\"help\":",
                                     JsonString(metric.help), ",\"unit\":", JsonString(metric.unit), "}]"));
    }
    const std::string inner = JsonArray(entries);
    return absl::StrCat("{", inner.substr(1, inner.size() - 2), "}");
  }

  Answer BuildInfo(const PrometheusParams&, const HttpRequest&) const {
    return absl::StrCat("{\"version\":\"", kPrometheusVersion,
                        "\",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\",\"buildDate\":\"\",",
                        "\"goVersion\":\"\",\"application\":\"Fleetmark\",\"applicationVersion\":",
                        JsonString(options_.version), "}");
  }

  // There are none here, which clients take better than an error.
  Answer Rules(const PrometheusParams&, const HttpRequest&) const { return std::string("{\"groups\":[]}"); }
  Answer Exemplars(const PrometheusParams&, const HttpRequest&) const { return std::string("[]"); }
  Answer Alerts(const PrometheusParams&, const HttpRequest&) const { return std::string("{\"alerts\":[]}"); }

  const Options options_;
  const promql::Engine& engine_;
  mutable std::atomic<int> running_{0};
};

PrometheusRoutes::PrometheusRoutes(Options options) : impl_(std::make_shared<Impl>(std::move(options))) {}
void PrometheusRoutes::Register(HttpServer& server) { impl_->Register(server); }

}  // namespace fleetmark::collector
