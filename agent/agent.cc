#include "agent/agent.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "agent/agent_parts.h"
#include "agent/footprint.h"
#include "agent/plugin_user.h"
#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/net/credentials.h"
#include "common/obs/log.h"
#include "common/run/cgroup.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxConcurrentRuns = 16;
constexpr size_t kHttpThreads = 4;  // scrapers and a probe

// The launcher is installed beside the agent.
std::string LauncherPath() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "fleetmark-launch").string();
}

}  // namespace

Agent::Agent(AgentConfig config, std::shared_ptr<const BenchmarkSet> benchmarks)
    : config_(std::move(config)), parts_(std::make_unique<Parts>(config_)) {
  MutexLock lock(parts_->mu);
  parts_->sources.own = benchmarks;
  parts_->benchmarks = std::move(benchmarks);
}

Agent::~Agent() { Stop(); }

absl::Status Agent::Parts::MakeFolders() {
  FM_RETURN_IF_ERROR(fleetmark::MakeFolders(config.data_dir, 0755));
  runs_folder = absl::StrCat(config.data_dir, "/runs");
  // Folders of runs that an earlier agent did not live to end.
  FM_RETURN_IF_ERROR(RemoveTree(runs_folder));
  FM_RETURN_IF_ERROR(fleetmark::MakeFolders(runs_folder, 0755));
  // Whatever the umask: each run's own folder is its user's alone.
  if (chmod(runs_folder.c_str(), 0711) != 0) return ErrnoStatus(errno, absl::StrCat("open ", runs_folder));
  return user.has_value() ? CheckReachable(runs_folder, *user) : absl::OkStatus();
}

absl::Status Agent::Parts::MakeSpool() {
  Spool::Options options;
  options.folder = config.data_dir;
  options.node = config.node_name;
  options.max_bytes = static_cast<uint64_t>(config.spool_max_bytes);
  options.max_age = config.spool_max_age;
  FM_ASSIGN_OR_RETURN(spool, Spool::Open(options, clock));
  return absl::OkStatus();
}

void Agent::Parts::MakeGate() {
  budget =
      std::make_unique<Budget>(Budget::Options{config.budget_share, config.data_dir + "/budget.pb"}, clock);
  Gate::Options options;
  options.cool_down = config.gate.cool_down;
  gate =
      std::make_unique<Gate>(options, MakeGateSources(config.gate, {*runner, kubelet, *gpus, clock}), clock);
  BenchmarkRunner::Options runs;
  runs.retry_after = config.gate.retry;
  benchmark_runner = std::make_unique<BenchmarkRunner>(
      runs, BenchmarkRunner::Parts{*runner, *gate, *budget, *spool, leases, *conditions, clock});
}

absl::Status Agent::Parts::MakeRunner() {
  if (config.plugin_cgroup != "none") {
    CgroupRoot::Options options;
    options.tag = absl::StrCat(absl::Hex(StableHash64(config.data_dir), absl::kZeroPad16));
    if (config.plugin_cgroup != "auto") options.parent = config.plugin_cgroup;
    absl::StatusOr<CgroupRoot> root = CgroupRoot::Open(options, OwnCgroupLayout());
    if (root.ok()) {
      LogInfo("runs get cgroups", {{"where", root->Describe()}});
      cgroups.emplace(*std::move(root));
    } else if (config.plugin_cgroup != "auto") {
      return Annotate(root.status(), "plugins.cgroup");
    } else {
      LogWarn("runs get no cgroup: memory is not bounded", {{"reason", root.status()}});
    }
  }
  ProcessRunner::Options options{LauncherPath(), cgroups.has_value() ? &*cgroups : nullptr};
  runner = std::make_unique<ProcessRunner>(std::move(options), clock);
  gpus =
      std::make_unique<GpuReader>(ProbeBeside(std::filesystem::path(LauncherPath()).parent_path()), *runner);
  ConditionsProbe::Options around;
  around.gpus = [this] { return gpus->Read(); };
  conditions = std::make_unique<ConditionsProbe>(std::move(around), clock);
  return absl::OkStatus();
}

std::shared_ptr<FactCollector> Agent::Parts::MakeFactCollector() {
  FactsOptions options;
  for (const FactFileConfig& file : config.fact_files) options.files.push_back({file.path, file.prefix});
  if (const char* digest = getenv("FLEETMARK_IMAGE_DIGEST")) options.image_digest = digest;
  if (config.facts_gpus) options.gpus = [this] { return gpus->Read(); };
  return std::make_shared<FactCollector>(std::move(options));
}

void Agent::Parts::MakeFactWatcher() {
  FactWatcher::Options options;
  options.folder = config.data_dir;
  options.node = config.node_name;
  options.interval = config.facts_interval;
  options.collect = [this, collector = MakeFactCollector()] {
    worked = true;
    return collector->Collect(facts->facts());
  };
  options.on_change = [this](const auto& now, const auto& events) { return OnFacts(now, events); };
  facts = std::make_unique<FactWatcher>(std::move(options), clock);
}

void Agent::Parts::MakeScheduler() {
  Scheduler::Callbacks callbacks;
  callbacks.start = [this](const Scheduler::Start& start) { OnStart(start); };
  callbacks.refused = [this](const Scheduler::Request& request, const std::string& why) {
    OnRefused(request.request_id, why);
  };
  callbacks.missed = [this](const std::string& benchmark, absl::Time due, const std::string& why) {
    OnMissed(benchmark, due, why);
  };
  if (budget->limited()) {
    callbacks.budget_wait = [this](const std::string& benchmark) { return budget->WaitFor(benchmark); };
  }
  scheduler = std::make_unique<Scheduler>(Benchmarks()->Jobs(), std::move(callbacks), clock);
}

absl::Status Agent::Parts::MakeUploader() {
  GrpcUploadConnector::Options connection;
  FM_ASSIGN_OR_RETURN(connection.credentials, MakeChannelCredentials(config.tls));
  connection.agent_version = FM_VERSION;
  connector = std::make_unique<GrpcUploadConnector>(std::move(connection));

  Uploader::Options options;
  options.collectors = config.collectors;
  options.seed = StableHash64(config.node_name);
  Uploader::Callbacks callbacks;
  callbacks.make_hello = [this] { return MakeHello(); };
  callbacks.make_heartbeat = [this] {
    // Once the start, or the runs since the last time, are over.
    if (pool->running().empty() && worked.exchange(false)) ReleaseIdleMemory();
    return MakeHeartbeat();
  };
  callbacks.on_run_now = [this](const v1::RunNow& request) { OnRunNow(request); };
  callbacks.on_connected = [this](const v1::Welcome& welcome) {
    connecting.reset();
    MutexLock lock(mu);
    collector_ahead = absl::FromUnixNanos(welcome.time_unix_ns()) - clock.Now();
  };
  callbacks.on_lease = [this](const v1::Lease& lease) { leases.OnLease(lease); };
  callbacks.on_disconnected = [this](const absl::Status& why) {
    if (!connecting.has_value()) connecting.emplace(grpc_timers);
    leases.Disconnected(why);
  };
  callbacks.on_plan = [this](const v1::Plan& sent) { OnPlan(sent); };
  callbacks.on_cancel = [this](const v1::Cancel& cancel) { OnCancel(cancel); };
  connecting.emplace(grpc_timers);
  uploader = std::make_unique<Uploader>(std::move(options), std::move(callbacks), *spool, *connector, clock);
  return absl::OkStatus();
}

absl::Status Agent::OpenData() {
  Parts& p = *parts_;
  FM_ASSIGN_OR_RETURN(p.user, FindPluginUser(config_.plugin_user));
  FM_RETURN_IF_ERROR(p.MakeFolders());
  p.UseKeptPlan();
  FM_RETURN_IF_ERROR(p.MakeSpool());
  FM_RETURN_IF_ERROR(p.MakeRunner());
  p.MakeGate();
  p.pool = std::make_unique<RunPool>(kMaxConcurrentRuns);
  p.MakeFactWatcher();
  p.MakeScheduler();
  FM_RETURN_IF_ERROR(p.MakeUploader());
  p.counters = std::make_unique<AgentMetrics>(p.metrics,
                                              AgentMetrics::Parts{*p.spool, *p.uploader, *p.gate, *p.budget});
  return absl::OkStatus();
}

absl::Status Agent::Serve() {
  Parts& p = *parts_;
  if (!config_.http.host.empty()) {
    p.http = std::make_unique<HttpServer>(kHttpThreads);
    ServeAgentHttp(p.metrics, *p.http);
    FM_RETURN_IF_ERROR(p.http->Start(config_.http.host, config_.http.port).status());
  }
  FM_RETURN_IF_ERROR(p.ServeLocally());
  FM_RETURN_IF_ERROR(p.ServeHealth());
  p.facts->Start();
  p.RecordLostRuns();
  p.uploader->Start();
  p.scheduler->Run();
  const auto set = p.Benchmarks();
  LogInfo("agent runs", {{"node", config_.node_name},
                         {"benchmarks", set->Jobs().size()},
                         {"plugins", set->catalog().plugins().size()},
                         {"http", config_.http.host.empty() ? "none" : config_.http.ToString()},
                         {"version", FM_VERSION}});
  return absl::OkStatus();
}

absl::StatusOr<v1::RunProgress> Agent::RunOnce(const LocalRunRequest& request) {
  Parts& p = *parts_;
  p.facts->Start();
  p.RecordLostRuns();
  p.uploader->Start();
  std::vector<Scheduler::Job> jobs = p.Benchmarks()->Jobs();
  for (Scheduler::Job& job : jobs) job.schedule.reset();
  p.scheduler->Reload(std::move(jobs));
  p.scheduler->Run();
  return p.RunLocally(request);
}

void Agent::Stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  if (p.health != nullptr) p.health->Stop();
  if (p.scheduler != nullptr) p.scheduler->Stop();
  p.local_requests.Stop();
  p.leases.Stop();
  if (p.pool != nullptr) p.pool->Stop("the agent stops");
  if (p.facts != nullptr) p.facts->Stop();
  if (p.uploader != nullptr) p.uploader->Stop(config_.stop_timeout);
  if (p.http != nullptr) p.http->Stop();
  if (p.local != nullptr) p.local->Stop();
}

}  // namespace fleetmark::agent
