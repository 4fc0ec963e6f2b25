#include "collector/collector.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "collector/access/access_control.h"
#include "collector/access/http_guard.h"
#include "collector/access/node_names.h"
#include "collector/access/people.h"
#include "collector/acting.h"
#include "collector/alerting.h"
#include "collector/audit_log.h"
#include "collector/control/lease_table.h"
#include "collector/control/plan_book.h"
#include "collector/control/sessions.h"
#include "collector/detect/change_detector.h"
#include "collector/detect/detection_loop.h"
#include "collector/detect/reference_rules.h"
#include "collector/fleet/fleet_detection.h"
#include "collector/ingest/committer.h"
#include "collector/ingest/ingest_metrics.h"
#include "collector/ingest/ingest_service.h"
#include "collector/ingest/run_import.h"
#include "collector/join/join_service.h"
#include "collector/promql/engine.h"
#include "collector/query/action_api.h"
#include "collector/query/action_service.h"
#include "collector/query/alert_api.h"
#include "collector/query/alert_http.h"
#include "collector/query/alert_service.h"
#include "collector/query/audit_api.h"
#include "collector/query/audit_service.h"
#include "collector/query/http_routes.h"
#include "collector/query/prometheus_routes.h"
#include "collector/query/query_api.h"
#include "collector/query/query_service.h"
#include "collector/query/static_files.h"
#include "collector/query/store_series_source.h"
#include "collector/remote/reframe_receiver.h"
#include "collector/remote/remote_writer.h"
#include "collector/remote/write_receiver.h"
#include "collector/store/backups.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/periodic_thread.h"
#include "common/base/status.h"
#include "common/http/http_server.h"
#include "common/model/limits.h"
#include "common/model/series.h"
#include "common/net/credentials.h"
#include "common/net/health_service.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr auto kGrpcDrain = std::chrono::seconds(5);

// A client that pings more often than this is sent away; agents ping after two minutes in
// which they heard nothing.
constexpr int kMinPingMs = 20'000;
// Pages that follow changes hold 24 of them at most, and each run that is followed one.
constexpr size_t kHttpThreads = 64;
constexpr absl::Duration kMaintenanceInterval = absl::Minutes(10);
// How soon a revoked certificate ends its streams, and renewed files are taken.
constexpr absl::Duration kCertificateInterval = absl::Seconds(3);
constexpr int kJoinIdleMs = 30'000;
constexpr int kJoinMessageBytes = 64 << 10;
constexpr int kKeepaliveMs = 120'000;  // the collector's own pings, to notice agents that vanished

ReferenceRule ToRule(const ReferenceConfig& config) {
  return {config.node, config.node_labels, config.benchmark, config.metric, config.labels, config.reference};
}

absl::StatusOr<ReferenceRules> MakeRules(const std::vector<ReferenceConfig>& configs) {
  std::vector<ReferenceRule> rules;
  for (const ReferenceConfig& config : configs) rules.push_back(ToRule(config));
  return ReferenceRules::Create(std::move(rules));
}

HealthService::States HealthStates(const Store& store) {
  const auto takes_writes = [&store] { return store.Health().ok(); };
  // A store that takes no writes is still read from.
  return {{"", takes_writes},
          {v1::AgentService::service_full_name(), takes_writes},
          {v1::FleetService::service_full_name(), [] { return true; }}};
}

LeaseTable::Options ToLeaseOptions(const CollectorConfig& config) {
  LeaseTable::Options options;
  for (const LimitConfig& limit : config.limits) {
    options.limits.push_back({limit.name, limit.benchmarks, limit.node_labels,
                              static_cast<size_t>(limit.max_nodes), limit.max_share, limit.per,
                              limit.longest});
  }
  options.seed = static_cast<uint64_t>(absl::ToUnixNanos(RealClock().Now()));
  return options;
}

RemoteWriter::Options ToRemoteOptions(const CollectorConfig& config, const Store& store) {
  RemoteWriter::Options options;
  options.url = config.remote_write.url;
  options.bearer_token_file = config.remote_write.bearer_token_file;
  options.ca_file = config.remote_write.ca_file;
  options.timeout = config.remote_write.timeout;
  options.queue.folder = config.data_dir + "/remote_write";
  options.queue.max_bytes = static_cast<uint64_t>(config.remote_write.queue_bytes);
  options.seed = static_cast<uint64_t>(absl::ToUnixNanos(RealClock().Now()));
  options.node_labels = [&store](const std::string& name) {
    const absl::StatusOr<v1::Node> node = store.GetNode(name);
    if (!node.ok()) return std::map<std::string, std::string>();
    return std::map<std::string, std::string>(node->identity().labels().begin(),
                                              node->identity().labels().end());
  };
  return options;
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

void LogMaintenance(const absl::StatusOr<MaintenanceResult>& result) {
  if (!result.ok()) {
    LogError("the store's maintenance failed; it is tried again", {{"error", result.status()}});
    return;
  }
  LogDebug("the store was maintained", {{"days_summarised", result->days_summarised},
                                        {"chunks_dropped", result->chunks_dropped},
                                        {"series_dropped", result->series_dropped},
                                        {"runs_dropped", result->runs_dropped},
                                        {"events_dropped", result->events_dropped}});
  if (result->shortened)
    LogWarn("the store is above max_bytes; samples and runs are kept for a shorter time", {});
}

// Who may use the interfaces for people, told at each start, since nobody is asked unless configured.
void LogWhoMay(const CollectorConfig& config) {
  if (config.people.asked) {
    LogInfo("people are asked who they are", {{"tokens", config.people.token_folder}});
    return;
  }
  const bool others = !config.http.host.empty() && !IsLoopback(config.http.host);
  Log(others ? LogLevel::kWarn : LogLevel::kInfo,
      others ? "everybody who reaches HTTP may do everything: the configuration has no section `people`"
             : "every user of this machine may do everything: the configuration has no section `people`",
      {{"http", config.http.host.empty() ? "none" : config.http.ToString()}});
}

absl::StatusOr<v1::BackupResponse> MakeBackup(Backups& backups) {
  const absl::StatusOr<Backups::Made> made = backups.Make();
  if (!made.ok()) {
    LogError("no backup was made", {{"error", made.status()}});
    return made.status();
  }
  LogInfo("backup made", {{"folder", made->folder}, {"bytes", made->bytes}});
  v1::BackupResponse response;
  response.set_folder(made->folder);
  response.set_time_unix_ns(absl::ToUnixNanos(made->time));
  response.set_files(made->files);
  response.set_bytes(made->bytes);
  response.set_linked(made->linked);
  for (const std::string& name : made->removed) response.add_removed(name);
  return response;
}

}  // namespace

AuthorityFolder::Options ToAuthorityOptions(const CollectorConfig& config) {
  AuthorityFolder::Options options;
  options.folder = config.authority_folder;
  options.node_lifetime = config.node_certificate_lifetime;
  return options;
}

// In the order of construction; destroyed in reverse.
struct Collector::Parts {
  // The steps of a start, in this order; nothing runs before Serve but the committer, which has no work.
  absl::Status MakeStore(const CollectorConfig& config);
  absl::Status MakeDetection(const CollectorConfig& config);
  absl::Status MakeRemoteWrite(const CollectorConfig& config);
  void MakeFleetDetection(const CollectorConfig& config);
  void MakeIngest(const CollectorConfig& config);
  void LogNodesOverLimit(const CommitResult& result);
  void MakeQuery();
  void MakePrometheus(const CollectorConfig& config);
  absl::Status ServeHttp(const CollectorConfig& config);
  absl::Status MakeIdentity(const CollectorConfig& config);
  void MakeAccess(const CollectorConfig& config);
  absl::Status ServeGrpc(const CollectorConfig& config);
  absl::Status ServeJoin(const CollectorConfig& config);
  // What a peer may not, or nothing: see IngestService::Options::check_peer.
  absl::Status CheckPeer(const std::optional<Certificate>& peer, const std::string& node) const;
  void LookAfterCertificates();
  std::vector<std::string> Problems() const;

  Metrics metrics;
  std::shared_ptr<TlsMaterial> tls;  // null: plaintext
  std::optional<NodeNames> node_names;
  std::unique_ptr<AuthorityFolder> authority;
  std::unique_ptr<JoinServices> join_services;
  std::unique_ptr<People> people;
  std::unique_ptr<AccessControl> access;
  std::unique_ptr<Store> store;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<AuditApi> audit_api;
  std::unique_ptr<AuditService> audit_service;
  std::unique_ptr<PeriodicThread> maintenance;
  std::unique_ptr<Backups> backups;
  IngestMetrics ingest_metrics{metrics};
  Sessions sessions{Sessions::Options{}, RealClock()};
  std::unique_ptr<LeaseTable> leases;
  std::unique_ptr<PlanBook> plans;
  std::unique_ptr<Alerting> alerting;
  std::unique_ptr<Acting> acting;
  std::unique_ptr<DetectionLoop> detection;
  std::unique_ptr<RemoteWriter> remote_write;
  std::set<std::string> nodes_over_limit;  // that were logged; the committer's
  std::unique_ptr<FleetDetection> fleet_detection;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<RunImport> import;
  std::unique_ptr<IngestService> ingest;
  std::unique_ptr<QueryApi> query;
  std::unique_ptr<QueryService> query_service;
  std::unique_ptr<AlertService> alert_service;
  std::unique_ptr<ActionService> action_service;
  std::unique_ptr<StoreSeriesSource> series;
  std::unique_ptr<promql::Engine> engine;
  std::unique_ptr<PrometheusRoutes> prometheus;
  std::unique_ptr<HttpRoutes> routes;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<HealthService> health_service;
  std::unique_ptr<grpc::Server> grpc;
  std::unique_ptr<grpc::Server> join;
  std::unique_ptr<PeriodicThread> certificates;
  std::string certificate_fault;  // of the thread `certificates`
  bool stopped = false;
};

Collector::Collector(CollectorConfig config)
    : config_(std::move(config)), parts_(std::make_unique<Parts>()) {}

Collector::~Collector() { Stop(); }

absl::Status Collector::Parts::MakeStore(const CollectorConfig& config) {
  FM_RETURN_IF_ERROR(MakeFolders(config.data_dir, 0750));
  Store::Options options;
  options.folder = config.data_dir;
  options.max_series = config.max_series;
  options.max_series_per_node = config.max_series_per_node;
  options.cache_bytes = static_cast<uint64_t>(config.cache_bytes);
  options.write_buffer_bytes = static_cast<uint64_t>(config.write_buffer_bytes);
  options.reserve_bytes = static_cast<uint64_t>(config.reserve_bytes);
  options.retention = {config.keep_samples,
                       config.keep_hourly,
                       config.keep_daily,
                       config.keep_runs,
                       config.keep_events,
                       config.keep_silent_series,
                       static_cast<uint64_t>(config.max_store_bytes)};
  FM_ASSIGN_OR_RETURN(store, Store::Open(options));
  backups = std::make_unique<Backups>(
      Backups::Options{config.backup_dir, config.data_dir, static_cast<size_t>(config.backups_kept),
                       options.reserve_bytes},
      *store, RealClock());
  maintenance = std::make_unique<PeriodicThread>(RealClock(), kMaintenanceInterval, [this] {
    LogMaintenance(store->Maintain(absl::ToUnixNanos(RealClock().Now())));
    audit->Maintain();
  });
  return absl::OkStatus();
}

absl::Status Collector::Parts::MakeDetection(const CollectorConfig& config) {
  alerting = std::make_unique<Alerting>(config.alerts, *store, RealClock(), metrics);
  FM_RETURN_IF_ERROR(alerting->Load());
  acting = std::make_unique<Acting>(
      config.actions, *store, *alerting, [this](v1::Node* node) { sessions.FillLive(node); }, RealClock(),
      metrics);
  FM_RETURN_IF_ERROR(acting->Load());
  DetectionLoop::Options options;
  options.store = store.get();
  options.clock = &RealClock();
  options.metrics = &metrics;
  options.detectors = {std::make_shared<ChangeDetector>()};
  FM_ASSIGN_OR_RETURN(options.references, MakeRules(config.references));
  options.on_finding = [this](const v1::Finding& finding) {
    LogFinding(finding);
    alerting->Notify();
  };
  detection = std::make_unique<DetectionLoop>(std::move(options));
  return absl::OkStatus();
}

absl::Status Collector::Parts::MakeRemoteWrite(const CollectorConfig& config) {
  if (config.remote_write.url.server.empty()) return absl::OkStatus();
  remote_write = std::make_unique<RemoteWriter>(ToRemoteOptions(config, *store), RealClock(), metrics);
  return Annotate(remote_write->Start(), "remote_write");
}

// Once for each node, in the committer's thread.
void Collector::Parts::LogNodesOverLimit(const CommitResult& result) {
  for (const std::string& node : result.nodes_over_series_limit) {
    if (!nodes_over_limit.insert(node).second) continue;
    LogWarn(
        "a node has as many series as it may (store.max_series_per_node); samples of others are not stored",
        {{"node", node}});
  }
}

void Collector::Parts::MakeFleetDetection(const CollectorConfig& config) {
  FleetDetection::Options options;
  options.store = store.get();
  options.clock = &RealClock();
  options.metrics = &metrics;
  options.false_alarms_per_week = config.false_alarms_per_week;
  options.fill_live = [this](v1::Node* node) { sessions.FillLive(node); };
  options.run_now = [this](const v1::RunNowRequest& request) {
    // The run comes back as a record like any other; nobody follows it.
    return sessions
        .RunNow(request, v1::TRIGGER_CONFIRM, {[](const v1::RunProgress&) {}, [](const absl::Status&) {}})
        .status();
  };
  options.on_finding = [this](const v1::Finding&) { alerting->Notify(); };
  fleet_detection = std::make_unique<FleetDetection>(std::move(options));
}

void Collector::Parts::MakeIngest(const CollectorConfig& config) {
  leases = std::make_unique<LeaseTable>(ToLeaseOptions(config), metrics, RealClock());
  plans = std::make_unique<PlanBook>(config.suites);
  committer = std::make_unique<Committer>(
      Committer::Options{},
      [this](absl::Span<const SenderRecords> batch) {
        absl::StatusOr<CommitResult> result = store->Commit(batch);
        if (result.ok() && remote_write != nullptr) remote_write->Offer(batch);
        return result;
      },
      [this](const CommitResult& result) {
        LogNodesOverLimit(result);
        detection->Notify();
      },
      RealClock(), ingest_metrics);
  import = std::make_unique<RunImport>(*store, *committer, RealClock(),
                                       std::min(config.keep_samples, config.keep_runs));
  IngestService::Options options;
  options.collector_version = FM_VERSION;
  options.max_records_per_second = config.max_records_per_second;
  if (tls != nullptr) {
    options.check_peer = [this](const std::optional<Certificate>& peer, const std::string& node) {
      return CheckPeer(peer, node);
    };
  }
  ingest = std::make_unique<IngestService>(std::move(options), *store, *committer, sessions, *leases, *plans,
                                           ingest_metrics, RealClock());
}

std::vector<std::string> Collector::Parts::Problems() const {
  std::vector<std::string> problems = detection->Problems();
  if (const absl::Status state = store->Health(); !state.ok()) problems.push_back(Message(state));
  for (std::string& problem : alerting->Problems()) problems.push_back(std::move(problem));
  for (std::string& problem : acting->Problems()) problems.push_back(std::move(problem));
  return problems;
}

void Collector::Parts::MakeQuery() {
  QueryApi::Options options;
  options.store = store.get();
  options.clock = &RealClock();
  options.version = FM_VERSION;
  QueryCallbacks& live = options.callbacks;
  live.fill_live = [this](v1::Node* node) {
    sessions.FillLive(node);
    plans->FillLive(node);
  };
  live.nodes_connected = [this] { return static_cast<uint64_t>(sessions.connected()); };
  live.problems = [this] { return Problems(); };
  live.run_now = [this](const v1::RunNowRequest& request,
                        RunFollower follower) -> absl::StatusOr<std::string> {
    // A node that was never seen is told apart from one that is away.
    FM_RETURN_IF_ERROR(store->GetNode(request.node()).status());
    return sessions.RunNow(request, v1::TRIGGER_MANUAL,
                           {std::move(follower.on_progress), std::move(follower.on_end)});
  };
  live.unfollow = [this](const std::string& request_id) { sessions.Unfollow(request_id); };
  live.cancel_run = [this](const v1::CancelRunRequest& request) { return sessions.CancelRun(request); };
  live.import_runs = [this](const v1::ImportRunsRequest& request) { return import->Import(request); };
  live.backup = [this] { return MakeBackup(*backups); };
  query = std::make_unique<QueryApi>(std::move(options));
  QueryService::Options service;
  service.api = query.get();
  AlertService::Options alerts;
  alerts.api = &alerting->api();
  service.check_caller = {access.get(), tls != nullptr};
  alerts.check_caller = service.check_caller;
  query_service = std::make_unique<QueryService>(service);
  alert_service = std::make_unique<AlertService>(std::move(alerts));
  action_service = std::make_unique<ActionService>(acting->api(), service.check_caller);
  audit_api = std::make_unique<AuditApi>(store->audit());
  audit_service = std::make_unique<AuditService>(*audit_api, service.check_caller);
}

void Collector::Parts::MakePrometheus(const CollectorConfig& config) {
  series = std::make_unique<StoreSeriesSource>(*store, RealClock());
  engine = std::make_unique<promql::Engine>(
      promql::Engine::Options{.source = series.get(), .clock = &RealClock(), .query = config.prometheus});
  prometheus = std::make_unique<PrometheusRoutes>(
      PrometheusRoutes::Options{.engine = engine.get(), .clock = &RealClock(), .version = FM_VERSION});
}

absl::Status Collector::Parts::ServeHttp(const CollectorConfig& config) {
  if (config.http.host.empty()) return absl::OkStatus();
  http = std::make_unique<HttpServer>(kHttpThreads);
  routes = std::make_unique<HttpRoutes>(
      HttpRoutes::Options{.api = query.get(), .metrics = &metrics, .clock = &RealClock()});
  http->SetGuard(MakeHttpGuard(*access, RealClock()));
  ServeLogin(*access, *http);
  routes->Register(*http);
  prometheus->Register(*http);
  ServeAlerts(alerting->api(), RealClock(), *http);
  ServeAudit(*audit_api, RealClock(), *http);
  const ImportFn take = [this](const v1::ImportRunsRequest& request) { return import->Import(request); };
  if (config.receive_remote_write) ServeRemoteWrite(*http, take);
  if (config.receive_reframe) ServeReframeRecords(*http, take);
  if (!config.web_dir.empty()) FM_RETURN_IF_ERROR(ServeFolder(config.web_dir, *http));
  return http->Start(config.http.host, config.http.port).status();
}

absl::Status Collector::Parts::ServeGrpc(const CollectorConfig& config) {
  grpc::ServerBuilder builder;
  int port = 0;
  // People who show a token need no certificate; agents do, as CheckPeer sees to.
  const auto clients = config.people.asked ? ClientCertificates::kOptional : ClientCertificates::kRequired;
  builder.AddListeningPort(config.grpc.ToString(), MakeServerCredentials(tls, clients), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // It would answer each heartbeat with a ping, which wakes the agent a second time. A batch needs no larger
  // window: gRPC widens it for a message that is being read.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytes));
  builder.RegisterService(ingest->service());
  builder.RegisterService(query_service->service());
  builder.RegisterService(alert_service->service());
  builder.RegisterService(action_service->service());
  builder.RegisterService(audit_service->service());
  health_service =
      std::make_unique<HealthService>(HealthService::Options{.states = HealthStates(*store)}, RealClock());
  builder.RegisterService(health_service->service());
  if (join_services != nullptr && tls != nullptr) builder.RegisterService(join_services->certificate());
  grpc = builder.BuildAndStart();
  if (grpc != nullptr && port != 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("gRPC: can't listen on ", config.grpc.ToString(),
                                             ": the address is in use or not this machine's"));
}

absl::Status Collector::Parts::MakeIdentity(const CollectorConfig& config) {
  FM_ASSIGN_OR_RETURN(node_names, NodeNames::Create(config.node_name_rules));
  if (!config.authority_folder.empty()) {
    authority = std::make_unique<AuthorityFolder>(ToAuthorityOptions(config), RealClock());
    FM_RETURN_IF_ERROR(authority->RenewServerIfDue().status());
    join_services = std::make_unique<JoinServices>(*authority);
  }
  if (config.tls.enabled()) {
    FM_ASSIGN_OR_RETURN(tls, TlsMaterial::Load(config.tls));
  }
  return absl::OkStatus();
}

absl::Status Collector::Parts::CheckPeer(const std::optional<Certificate>& peer,
                                         const std::string& node) const {
  if (!peer.has_value()) return absl::PermissionDeniedError("no certificate was shown");
  if (tls->IsRevoked(*peer)) return absl::PermissionDeniedError("the certificate is revoked");
  // A stream may outlive the certificate that it began with.
  if (peer->not_after < RealClock().Now()) return absl::PermissionDeniedError("the certificate has expired");
  return node_names->Check(*peer, node);
}

void Collector::Parts::MakeAccess(const CollectorConfig& config) {
  People::Options who;
  who.asked = config.people.asked;
  who.token_folder = config.people.token_folder;
  who.certificates = config.people.certificates;
  who.proxy = config.people.proxy;
  who.anonymous = config.people.anonymous;
  if (tls != nullptr) {
    who.is_revoked = [this](const Certificate& certificate) { return tls->IsRevoked(certificate); };
  }
  audit = std::make_unique<AuditLog>(store->audit(), config.people.keep_audit, RealClock(), metrics);
  people = std::make_unique<People>(std::move(who), RealClock());
  AccessControl::Options options;
  options.people = people.get();
  options.clock = &RealClock();
  options.metrics = &metrics;
  options.requests_per_second = config.people.requests_per_second;
  options.on_event = [this](const AccessEvent& event) { audit->Record(event); };
  access = std::make_unique<AccessControl>(std::move(options));
}

void Collector::Parts::LookAfterCertificates() {
  if (authority != nullptr) {
    const absl::StatusOr<bool> renewed = authority->RenewServerIfDue();
    if (!renewed.ok()) LogError("the collector's certificate was not renewed", {{"error", renewed.status()}});
    if (const absl::Status status = authority->RemoveExpiredTokens(); !status.ok()) {
      LogWarn("expired tokens were not removed", {{"error", status}});
    }
  }
  const absl::StatusOr<bool> changed = tls->Refresh();
  if (!changed.ok()) {
    // Told once: it is the same each time until somebody mends it.
    if (const std::string fault = changed.status().ToString(); fault != certificate_fault) {
      LogError("certificates can't be taken; the last good ones stay in use", {{"error", changed.status()}});
      certificate_fault = fault;
    }
  } else {
    certificate_fault.clear();
    if (*changed) {
      LogInfo("changed certificates are in use", {{"serial", tls->own().serial}});
      if (tls->RevocationsAreStale(RealClock().Now())) LogWarn("the revocation list is out of date", {});
    }
  }
  ingest->Recheck();
}

absl::Status Collector::Parts::ServeJoin(const CollectorConfig& config) {
  if (tls == nullptr) return absl::OkStatus();
  certificates = std::make_unique<PeriodicThread>(RealClock(), kCertificateInterval,
                                                  [this] { LookAfterCertificates(); });
  certificates->Start();
  if (join_services == nullptr || config.join.host.empty()) return absl::OkStatus();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config.join.ToString(), MakeJoinServerCredentials(tls), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kJoinIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kJoinIdleMs);
  builder.SetMaxReceiveMessageSize(kJoinMessageBytes);
  builder.RegisterService(join_services->join());
  join = builder.BuildAndStart();
  if (join != nullptr && port != 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("authority.listen: can't listen on ", config.join.ToString()));
}

absl::Status Collector::OpenStore() {
  FM_RETURN_IF_ERROR(parts_->MakeIdentity(config_));
  FM_RETURN_IF_ERROR(parts_->MakeStore(config_));
  parts_->MakeAccess(config_);
  FM_RETURN_IF_ERROR(parts_->MakeDetection(config_));
  FM_RETURN_IF_ERROR(parts_->MakeRemoteWrite(config_));
  parts_->MakeFleetDetection(config_);
  parts_->MakeIngest(config_);
  parts_->MakeQuery();
  parts_->MakePrometheus(config_);
  return absl::OkStatus();
}

absl::Status Collector::Serve() {
  FM_RETURN_IF_ERROR(parts_->ServeHttp(config_));
  FM_RETURN_IF_ERROR(parts_->ServeGrpc(config_));
  FM_RETURN_IF_ERROR(parts_->ServeJoin(config_));
  parts_->detection->Start();
  parts_->fleet_detection->Start();
  parts_->alerting->Start();
  parts_->acting->Start();
  parts_->maintenance->Start();
  LogInfo("collector serves", {{"grpc", config_.grpc.ToString()},
                               {"http", config_.http.host.empty() ? "none" : config_.http.ToString()},
                               {"data_dir", config_.data_dir},
                               {"version", FM_VERSION}});
  LogWhoMay(config_);
  return absl::OkStatus();
}

void Collector::Reload(const CollectorConfig& config) { parts_->plans->Replace(config.suites); }

void Collector::Stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  if (p.backups != nullptr) p.backups->Stop();
  if (p.health_service != nullptr) p.health_service->Stop();
  if (p.certificates != nullptr) p.certificates->Stop();
  if (p.join != nullptr) p.join->Shutdown(absl::ToChronoTime(RealClock().Now()) + kGrpcDrain);
  if (p.ingest != nullptr) p.ingest->Stop();
  if (p.grpc != nullptr) {
    p.grpc->Shutdown(absl::ToChronoTime(RealClock().Now()) + kGrpcDrain);
    p.grpc->Wait();
  }
  if (p.committer != nullptr) p.committer->Stop();
  if (p.remote_write != nullptr) p.remote_write->Stop();
  if (p.detection != nullptr) p.detection->Stop();
  if (p.fleet_detection != nullptr) p.fleet_detection->Stop();
  if (p.acting != nullptr) p.acting->Stop();
  if (p.alerting != nullptr) p.alerting->Stop();
  if (p.maintenance != nullptr) p.maintenance->Stop();
  if (p.routes != nullptr) p.routes->EndStreams();
  if (p.http != nullptr) p.http->Stop();
  if (p.audit != nullptr) p.audit->Stop();
}

bool Collector::Healthy() const {
  // After a failed write the store refuses all others until it is opened again.
  return parts_->store != nullptr && !parts_->stopped && !absl::IsUnavailable(parts_->store->Health());
}

}  // namespace fleetmark::collector
