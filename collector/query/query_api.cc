#include "collector/query/query_api.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "collector/query/curve.h"
#include "collector/query/fleet_overview.h"
#include "collector/query/group_compare.h"
#include "collector/query/group_quantiles.h"
#include "collector/query/paging.h"
#include "collector/store/alert_tables.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kDefaultLimit = 1000;
constexpr uint32_t kMaxLimit = 10'000;
constexpr uint32_t kDefaultSamples = 10'000;
constexpr uint32_t kMaxSamples = 100'000;
constexpr uint32_t kDefaultPoints = 1000;
constexpr size_t kMaxTokenBytes = 2048;
constexpr size_t kAnswerBytes = limits::kMessageBytes - 256 * 1024;
constexpr absl::Duration kMaxEventAhead = absl::Hours(24 * 366);  // maintenance is planned ahead
constexpr double kDefaultExpirySeconds = 60;
constexpr double kMaxExpirySeconds = 24 * 3600;

absl::StatusOr<uint32_t> CheckLimit(uint32_t limit, uint32_t default_limit, uint32_t max) {
  if (limit == 0) return default_limit;
  if (limit > max) {
    return absl::InvalidArgumentError(absl::StrCat("limit: ", limit, " is more than ", max));
  }
  return limit;
}

absl::StatusOr<Page> CheckPage(uint32_t limit, const std::string& token) {
  if (token.size() > kMaxTokenBytes)
    return absl::InvalidArgumentError("page_token: is not one of this server's");
  FM_ASSIGN_OR_RETURN(const uint32_t checked, CheckLimit(limit, kDefaultLimit, kMaxLimit));
  return Page{checked, token};
}

absl::Status CheckRange(const v1::TimeRange& range) {
  if (range.from_unix_ns() < 0) return absl::InvalidArgumentError("range.from_unix_ns: must not be negative");
  if (range.to_unix_ns() < 0) return absl::InvalidArgumentError("range.to_unix_ns: must not be negative");
  if (range.to_unix_ns() != 0 && range.to_unix_ns() < range.from_unix_ns()) {
    return absl::InvalidArgumentError("range: ends before it begins");
  }
  return absl::OkStatus();
}

absl::Status CheckNode(const std::string& name) {
  return name.empty() ? absl::OkStatus() : Annotate(CheckNodeName(name), "node");
}

template <typename Map>
absl::Status CheckLabelFilter(const char* field, const Map& labels) {
  if (labels.size() > limits::kLabelsPerNode) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": more than ", limits::kLabelsPerNode, " labels"));
  }
  for (const auto& [name, value] : labels) {
    FM_RETURN_IF_ERROR(CheckText(field, name, limits::kLabelValueBytes));
    FM_RETURN_IF_ERROR(CheckText(field, value, limits::kLabelValueBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckSelector(const v1::Selector& selector) {
  FM_RETURN_IF_ERROR(CheckNode(selector.node()));
  FM_RETURN_IF_ERROR(CheckText("selector.benchmark", selector.benchmark(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("selector.metric", selector.metric(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckLabelFilter("selector.labels", selector.labels()));
  return CheckLabelFilter("selector.node_labels", selector.node_labels());
}

// The store's filters take 0 as "until now"; so do these.
int64_t EndOf(const v1::TimeRange& range) { return range.to_unix_ns() == 0 ? INT64_MAX : range.to_unix_ns(); }

}  // namespace

QueryApi::QueryApi(Options options) : options_(std::move(options)), started_(options_.clock->Now()) {}

absl::StatusOr<v1::GetStatusResponse> QueryApi::GetStatus(const v1::GetStatusRequest&) const {
  FM_ASSIGN_OR_RETURN(const StoreCounts counts, options_.store->Counts());
  v1::GetStatusResponse response;
  response.set_collector_version(options_.version);
  response.set_started_unix_ns(absl::ToUnixNanos(started_));
  response.set_time_unix_ns(absl::ToUnixNanos(options_.clock->Now()));
  response.set_nodes(counts.nodes);
  if (options_.callbacks.nodes_connected) response.set_nodes_connected(options_.callbacks.nodes_connected());
  response.set_series(counts.series);
  response.set_runs(counts.runs);
  response.set_samples(counts.samples);
  response.set_open_findings(counts.open_findings);
  response.set_open_findings_worse(counts.open_findings_worse);
  for (const auto& [outcome, count] : counts.runs_by_outcome) {
    (*response.mutable_runs_by_outcome())[outcome] = count;
  }
  response.set_store_bytes(counts.disk_bytes);
  const absl::Status health = options_.store->Health();
  if (!health.ok()) response.add_problems(absl::StrCat("the store takes no writes: ", health.message()));
  if (options_.callbacks.problems) {
    for (std::string& problem : options_.callbacks.problems()) response.add_problems(std::move(problem));
  }
  return response;
}

absl::StatusOr<std::string> QueryApi::Version() const {
  FM_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, GetStatus({}));
  return absl::StrCat(status.nodes(), " ", status.nodes_connected(), " ", status.series(), " ", status.runs(),
                      " ", status.samples(), " ", options_.store->FindingsVersion(), " ",
                      options_.store->alerts().Version(), " ", events_added_.load(), " ",
                      absl::StrJoin(status.problems(), " "));
}

absl::StatusOr<v1::ListNodesResponse> QueryApi::ListNodes(const v1::ListNodesRequest& request) const {
  FM_RETURN_IF_ERROR(CheckNode(request.name()));
  FM_RETURN_IF_ERROR(CheckLabelFilter("labels", request.labels()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListNodesResponse response;
  const auto take = [&](v1::Node node) {
    if (!HasLabels(node.identity().labels(), request.labels())) return;
    if (options_.callbacks.fill_live) options_.callbacks.fill_live(&node);
    *response.add_nodes() = std::move(node);
  };
  if (!request.name().empty()) {
    absl::StatusOr<v1::Node> node = options_.store->GetNode(request.name());
    if (absl::IsNotFound(node.status())) return response;
    if (!node.ok()) return node.status();
    take(*std::move(node));
    return response;
  }
  const auto list = [this](const Page& slice, std::string* next) {
    return options_.store->ListNodes(slice, next);
  };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::ListSeriesResponse> QueryApi::ListSeries(const v1::ListSeriesRequest& request) const {
  FM_RETURN_IF_ERROR(CheckSelector(request.selector()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListSeriesResponse response;
  const auto list = [&](const Page& slice, std::string* next) {
    return options_.store->ListSeries(request.selector(), slice, next);
  };
  const auto take = [&response](v1::Series series) { *response.add_series() = std::move(series); };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::ReadSamplesResponse> QueryApi::ReadSamples(const v1::ReadSamplesRequest& request) const {
  if (request.series_id() == 0) return absl::InvalidArgumentError("series_id: must be set");
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const uint32_t limit, CheckLimit(request.limit(), kDefaultSamples, kMaxSamples));
  v1::ReadSamplesResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_series(), options_.store->GetSeries(request.series_id()));
  const int64_t from = request.range().from_unix_ns();
  const int64_t to = EndOf(request.range());

  std::vector<v1::Sample> samples;  // the first wanted one first
  if (request.newest()) {
    FM_ASSIGN_OR_RETURN(samples, options_.store->LastSamples(request.series_id(), to, limit + 1));
    std::erase_if(samples, [from](const v1::Sample& s) { return s.time_unix_ns() < from; });
    std::reverse(samples.begin(), samples.end());
  } else {
    FM_RETURN_IF_ERROR(
        options_.store->ScanSamples(request.series_id(), from, to, [&](const v1::Sample& sample) {
          samples.push_back(sample);
          return samples.size() <= limit;
        }));
  }
  size_t bytes = 0;
  size_t kept = 0;
  while (kept < samples.size() && kept < limit) {
    bytes += samples[kept].ByteSizeLong() + 4;
    if (bytes > kAnswerBytes) break;
    ++kept;
  }
  response.set_truncated(kept < samples.size());
  samples.resize(kept);
  if (request.newest()) std::reverse(samples.begin(), samples.end());
  for (v1::Sample& sample : samples) *response.add_samples() = std::move(sample);
  return response;
}

absl::StatusOr<v1::ListLatestResponse> QueryApi::ListLatest(const v1::ListLatestRequest& request) const {
  FM_RETURN_IF_ERROR(CheckSelector(request.selector()));
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListLatestResponse response;
  const auto list = [&](const Page& slice, std::string* next) {
    return options_.store->ListSeries(request.selector(), slice, next);
  };
  const int64_t from = request.range().from_unix_ns();
  const int64_t to = EndOf(request.range());
  const auto take = [&](v1::Series series) {
    if (series.samples() == 0 || series.last_unix_ns() < from || series.last_unix_ns() >= to) return;
    v1::LatestSample& sample = *response.add_samples();
    sample.set_series_id(series.series_id());
    *sample.mutable_series() = std::move(*series.mutable_key());
    sample.set_better(series.better());
    sample.set_time_unix_ns(series.last_unix_ns());
    sample.set_value(series.last_value());
  };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::ReadQuantilesResponse> QueryApi::ReadQuantiles(
    const v1::ReadQuantilesRequest& request) const {
  FM_RETURN_IF_ERROR(CheckSelector(request.selector()));
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  QuantileLimits limits;
  limits.answer_bytes = kAnswerBytes;
  return GroupQuantiles(*options_.store, *options_.clock, request, limits);
}

absl::StatusOr<v1::ListRunsResponse> QueryApi::ListRuns(const v1::ListRunsRequest& request) const {
  FM_RETURN_IF_ERROR(CheckNode(request.node()));
  FM_RETURN_IF_ERROR(CheckText("benchmark", request.benchmark(), limits::kNameBytes));
  if (!v1::Outcome_IsValid(request.outcome()))
    return absl::InvalidArgumentError("outcome: is not a known value");
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListRunsResponse response;
  const auto list = [&](const Page& slice, std::string* next) {
    return options_.store->ListRuns(request, slice, next);
  };
  const auto take = [&response](v1::NodeRun run) { *response.add_runs() = std::move(run); };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::GetRunResponse> QueryApi::GetRun(const v1::GetRunRequest& request) const {
  if (!IsUlid(request.run_id())) return absl::InvalidArgumentError("run_id: must be a ULID of 26 characters");
  v1::GetRunResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_run(), options_.store->GetRun(request.run_id()));
  return response;
}

absl::StatusOr<v1::ListFindingsResponse> QueryApi::ListFindings(
    const v1::ListFindingsRequest& request) const {
  FM_RETURN_IF_ERROR(CheckSelector(request.selector()));
  if (!v1::Finding::State_IsValid(request.state())) {
    return absl::InvalidArgumentError("state: is not a known value");
  }
  if (!v1::Finding::Direction_IsValid(request.direction())) {
    return absl::InvalidArgumentError("direction: is not a known value");
  }
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListFindingsResponse response;
  const auto list = [&](const Page& slice, std::string* next) {
    return options_.store->ListFindings(request, slice, next);
  };
  const auto take = [&response](v1::Finding finding) { *response.add_findings() = std::move(finding); };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::ListEventsResponse> QueryApi::ListEvents(const v1::ListEventsRequest& request) const {
  FM_RETURN_IF_ERROR(CheckNode(request.node()));
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const Page page, CheckPage(request.limit(), request.page_token()));
  v1::ListEventsResponse response;
  const auto list = [&](const Page& slice, std::string* next) {
    return options_.store->ListEvents(request, slice, next);
  };
  const auto take = [&response](v1::Event event) { *response.add_events() = std::move(event); };
  FM_ASSIGN_OR_RETURN(*response.mutable_next_page_token(), ReadPage(page, kAnswerBytes, list, take));
  return response;
}

absl::StatusOr<v1::FleetResponse> QueryApi::GetFleet(const v1::GetFleetRequest& request) const {
  FM_RETURN_IF_ERROR(CheckSelector(request.selector()));
  FM_RETURN_IF_ERROR(CheckText("fact", request.fact(), limits::kFactNameBytes));
  return ReadFleet(*options_.store, options_.callbacks.fill_live, options_.clock->Now(), request);
}

absl::StatusOr<v1::BenchmarksResponse> QueryApi::ListBenchmarks(const v1::ListBenchmarksRequest&) const {
  return ReadBenchmarks(*options_.store, options_.callbacks.fill_live);
}

absl::StatusOr<v1::Curve> QueryApi::ReadCurve(const v1::ReadCurveRequest& request) const {
  if (request.series_id() == 0) return absl::InvalidArgumentError("series_id: must be set");
  FM_RETURN_IF_ERROR(CheckRange(request.range()));
  FM_ASSIGN_OR_RETURN(const uint32_t points, CheckLimit(request.points(), kDefaultPoints, kMaxSamples));
  return ReadCurveOf(*options_.store, request.series_id(), request.range().from_unix_ns(),
                     EndOf(request.range()), points);
}

absl::StatusOr<v1::CompareResponse> QueryApi::Compare(const v1::CompareRequest& request) const {
  const std::pair<const char*, const v1::CompareGroup*> groups[] = {{"a", &request.a()}, {"b", &request.b()}};
  for (const auto& [name, group] : groups) {
    FM_RETURN_IF_ERROR(Annotate(CheckSelector(group->selector()), name));
    FM_RETURN_IF_ERROR(Annotate(CheckRange(group->range()), name));
    FM_RETURN_IF_ERROR(
        Annotate(CheckText("fact", group->fact(), limits::kFactNameBytes + limits::kFactValueBytes), name));
    FM_RETURN_IF_ERROR(
        Annotate(CheckText("plugin_version", group->plugin_version(), limits::kVersionBytes), name));
    FM_RETURN_IF_ERROR(
        Annotate(CheckText("params_digest", group->params_digest(), limits::kNameBytes), name));
  }
  return CompareGroups(*options_.store, request);
}

absl::StatusOr<v1::AddEventResponse> QueryApi::AddEvent(const v1::AddEventRequest& request) const {
  v1::Event event = request.event();
  if (!event.event_id().empty())
    return absl::InvalidArgumentError("event.event_id: is given by the collector");
  if (event.kind() == v1::Event::KIND_UNSPECIFIED) event.set_kind(v1::Event::KIND_NOTE);
  if (event.kind() != v1::Event::KIND_NOTE && event.kind() != v1::Event::KIND_MAINTENANCE &&
      event.kind() != v1::Event::KIND_DEPLOYMENT) {
    return absl::InvalidArgumentError("event.kind: must be KIND_NOTE, KIND_MAINTENANCE or KIND_DEPLOYMENT");
  }
  const absl::Time now = options_.clock->Now();
  if (event.message().empty()) return absl::InvalidArgumentError("event.message: must be set");
  if (event.time_unix_ns() == 0) event.set_time_unix_ns(absl::ToUnixNanos(now));
  if (absl::FromUnixNanos(event.time_unix_ns()) > now + kMaxEventAhead) {
    return absl::InvalidArgumentError("event.time_unix_ns: must not be more than a year ahead");
  }
  event.set_event_id(NewUlid(now));
  FM_RETURN_IF_ERROR(Annotate(CheckEvent(event), "event"));
  FM_RETURN_IF_ERROR(options_.store->PutEvent(event));
  ++events_added_;
  v1::AddEventResponse response;
  response.set_event_id(event.event_id());
  return response;
}

absl::StatusOr<std::string> QueryApi::RunNow(const v1::RunNowRequest& request, RunFollower follower) const {
  FM_RETURN_IF_ERROR(Annotate(CheckNodeName(request.node()), "node"));
  FM_RETURN_IF_ERROR(CheckBenchmarkName("benchmark", request.benchmark()));
  FM_RETURN_IF_ERROR(CheckText("asked_by", request.asked_by(), limits::kLabelValueBytes));
  v1::RunNowRequest checked = request;
  if (checked.expires_seconds() == 0) checked.set_expires_seconds(kDefaultExpirySeconds);
  if (!(checked.expires_seconds() > 0) || checked.expires_seconds() > kMaxExpirySeconds) {
    return absl::InvalidArgumentError(
        absl::StrCat("expires_seconds: must be above 0 and at most ", kMaxExpirySeconds));
  }
  if (!options_.callbacks.run_now) return absl::UnavailableError("this collector can't start runs");
  return options_.callbacks.run_now(checked, std::move(follower));
}

void QueryApi::Unfollow(const std::string& request_id) const {
  if (options_.callbacks.unfollow) options_.callbacks.unfollow(request_id);
}

absl::StatusOr<v1::CancelRunResponse> QueryApi::CancelRun(const v1::CancelRunRequest& request) const {
  FM_RETURN_IF_ERROR(Annotate(CheckNodeName(request.node()), "node"));
  if (request.request_id().empty() == request.run_id().empty()) {
    return absl::InvalidArgumentError("run_id: either this or request_id must be set");
  }
  FM_RETURN_IF_ERROR(CheckText("request_id", request.request_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("run_id", request.run_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("reason", request.reason(), limits::kReasonBytes));
  if (!options_.callbacks.cancel_run) return absl::UnavailableError("this collector can't cancel runs");
  FM_RETURN_IF_ERROR(options_.callbacks.cancel_run(request));
  return v1::CancelRunResponse();
}

absl::StatusOr<v1::ImportRunsResponse> QueryApi::ImportRuns(const v1::ImportRunsRequest& request) const {
  if (!options_.callbacks.import_runs) return absl::UnavailableError("this collector takes no imports");
  return options_.callbacks.import_runs(request);
}

absl::StatusOr<v1::BackupResponse> QueryApi::Backup(const v1::BackupRequest&) const {
  if (!options_.callbacks.backup) return absl::UnavailableError("this collector makes no backups");
  return options_.callbacks.backup();
}

absl::Status QueryApi::Ready() const { return options_.store->Health(); }

}  // namespace fleetmark::collector
