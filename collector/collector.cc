#include "collector/collector.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "collector/control/sessions.h"
#include "collector/detect/change_detector.h"
#include "collector/detect/detection_loop.h"
#include "collector/detect/reference_rules.h"
#include "collector/ingest/committer.h"
#include "collector/ingest/ingest_metrics.h"
#include "collector/ingest/ingest_service.h"
#include "collector/query/http_routes.h"
#include "collector/query/query_api.h"
#include "collector/query/query_service.h"
#include "collector/query/static_files.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/http/http_server.h"
#include "common/model/limits.h"
#include "common/model/series.h"
#include "common/net/credentials.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"

namespace fleetmark::collector {
namespace {

constexpr auto kGrpcDrain = std::chrono::seconds(5);

// A client that pings more often than this is sent away; agents ping once a minute.
constexpr int kMinPingMs = 20'000;

ReferenceRule ToRule(const ReferenceConfig& config) {
  return {config.node, config.node_labels, config.benchmark, config.metric, config.labels, config.reference};
}

absl::StatusOr<ReferenceRules> MakeRules(const std::vector<ReferenceConfig>& configs) {
  std::vector<ReferenceRule> rules;
  for (const ReferenceConfig& config : configs) rules.push_back(ToRule(config));
  return ReferenceRules::Create(std::move(rules));
}

void LogFinding(const v1::Finding& finding) {
  const bool open = finding.state() == v1::Finding::STATE_OPEN;
  LogInfo(open ? "finding opened" : "finding closed",
          {{"finding", finding.finding_id()},
           {"series", DisplayName(finding.series())},
           {"direction", v1::Finding::Direction_Name(finding.direction())},
           {"change", finding.change()},
           {"explanation", finding.explanation()}});
}

}  // namespace

// In the order of construction; destroyed in reverse.
struct Collector::Parts {
  Metrics metrics;
  std::unique_ptr<Store> store;
  IngestMetrics ingest_metrics{metrics};
  Sessions sessions{Sessions::Options{}, RealClock()};
  std::unique_ptr<DetectionLoop> detection;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<IngestService> ingest;
  std::unique_ptr<QueryApi> query;
  std::unique_ptr<QueryService> query_service;
  std::unique_ptr<HttpRoutes> routes;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<grpc::Server> grpc;
  bool stopped = false;
};

Collector::Collector(CollectorConfig config)
    : config_(std::move(config)), parts_(std::make_unique<Parts>()) {}

Collector::~Collector() { Stop(); }

absl::Status Collector::OpenStore() {
  Parts& p = *parts_;
  FM_RETURN_IF_ERROR(MakeFolders(config_.data_dir, 0750));
  Store::Options store;
  store.folder = config_.data_dir;
  store.max_series = config_.max_series;
  store.cache_bytes = static_cast<uint64_t>(config_.cache_bytes);
  store.write_buffer_bytes = static_cast<uint64_t>(config_.write_buffer_bytes);
  store.reserve_bytes = static_cast<uint64_t>(config_.reserve_bytes);
  FM_ASSIGN_OR_RETURN(p.store, Store::Open(store));

  DetectionLoop::Options detection;
  detection.store = p.store.get();
  detection.clock = &RealClock();
  detection.metrics = &p.metrics;
  detection.detectors = {std::make_shared<ChangeDetector>()};
  FM_ASSIGN_OR_RETURN(detection.references, MakeRules(config_.references));
  detection.on_finding = LogFinding;
  p.detection = std::make_unique<DetectionLoop>(std::move(detection));

  p.committer = std::make_unique<Committer>(
      Committer::Options{}, [&p](absl::Span<const SenderRecords> batch) { return p.store->Commit(batch); },
      [&p](const CommitResult&) { p.detection->Notify(); }, RealClock(), p.ingest_metrics);

  IngestService::Options ingest;
  ingest.collector_version = FM_VERSION;
  p.ingest = std::make_unique<IngestService>(std::move(ingest), *p.store, *p.committer, p.sessions,
                                             p.ingest_metrics, RealClock());

  QueryApi::Options query;
  query.store = p.store.get();
  query.clock = &RealClock();
  query.version = FM_VERSION;
  query.callbacks.fill_live = [&p](v1::Node* node) { p.sessions.FillLive(node); };
  query.callbacks.nodes_connected = [&p] { return static_cast<uint64_t>(p.sessions.connected()); };
  query.callbacks.problems = [&p] {
    std::vector<std::string> problems = p.detection->Problems();
    if (const absl::Status health = p.store->Health(); !health.ok()) problems.push_back(Message(health));
    return problems;
  };
  query.callbacks.run_now = [&p](const v1::RunNowRequest& request,
                                 RunFollower follower) -> absl::StatusOr<std::string> {
    // A node that was never seen is told apart from one that is away.
    FM_RETURN_IF_ERROR(p.store->GetNode(request.node()).status());
    return p.sessions.RunNow(request, v1::TRIGGER_MANUAL,
                             {std::move(follower.on_progress), std::move(follower.on_end)});
  };
  query.callbacks.unfollow = [&p](const std::string& request_id) { p.sessions.Unfollow(request_id); };
  query.callbacks.cancel_run = [&p](const v1::CancelRunRequest& request) {
    return p.sessions.CancelRun(request);
  };
  p.query = std::make_unique<QueryApi>(std::move(query));
  p.query_service = std::make_unique<QueryService>(QueryService::Options{.api = p.query.get()});
  return absl::OkStatus();
}

absl::Status Collector::Serve() {
  Parts& p = *parts_;
  if (!config_.http.host.empty()) {
    p.http = std::make_unique<HttpServer>();
    p.routes = std::make_unique<HttpRoutes>(
        HttpRoutes::Options{.api = p.query.get(), .metrics = &p.metrics, .clock = &RealClock()});
    p.routes->Register(*p.http);
    if (!config_.web_dir.empty()) FM_RETURN_IF_ERROR(ServeFolder(config_.web_dir, *p.http));
    FM_RETURN_IF_ERROR(p.http->Start(config_.http.host, config_.http.port).status());
  }

  FM_ASSIGN_OR_RETURN(auto credentials, MakeServerCredentials(config_.tls));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config_.grpc.ToString(), credentials, &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 120'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytes));
  builder.RegisterService(p.ingest->service());
  builder.RegisterService(p.query_service->service());
  p.grpc = builder.BuildAndStart();
  if (p.grpc == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("gRPC: can't listen on ", config_.grpc.ToString(),
                                               ": the address is in use or not this machine's"));
  }
  p.detection->Start();
  LogInfo("collector serves", {{"grpc", absl::StrCat(config_.grpc.host, ":", port)},
                               {"http", config_.http.host.empty() ? "none" : config_.http.ToString()},
                               {"data_dir", config_.data_dir},
                               {"version", FM_VERSION}});
  return absl::OkStatus();
}

void Collector::Stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  if (p.ingest != nullptr) p.ingest->Stop();
  if (p.grpc != nullptr) {
    p.grpc->Shutdown(absl::ToChronoTime(RealClock().Now()) + kGrpcDrain);
    p.grpc->Wait();
  }
  if (p.committer != nullptr) p.committer->Stop();
  if (p.detection != nullptr) p.detection->Stop();
  if (p.routes != nullptr) p.routes->EndStreams();
  if (p.http != nullptr) p.http->Stop();
}

bool Collector::Healthy() const { return parts_->store != nullptr && !parts_->stopped; }

}  // namespace fleetmark::collector
