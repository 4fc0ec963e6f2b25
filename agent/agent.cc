#include "agent/agent.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "agent/agent_metrics.h"
#include "agent/facts/fact_watcher.h"
#include "agent/facts/facts.h"
#include "agent/gpu/gpu_reader.h"
#include "agent/run/run_pool.h"
#include "agent/schedule/scheduler.h"
#include "agent/spool/spool.h"
#include "agent/upload/grpc_upload_stream.h"
#include "agent/upload/uploader.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/http/http_server.h"
#include "common/net/credentials.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"
#include "common/run/plugin_run.h"
#include "common/run/process_runner.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxConcurrentRuns = 16;
constexpr size_t kHttpThreads = 4;  // scrapers and a probe
constexpr absl::Duration kProgressInterval = absl::Milliseconds(250);

// The launcher is installed beside the agent.
std::string LauncherPath() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "fleetmark-launch").string();
}

absl::StatusOr<std::optional<RunUser>> FindUser(const std::string& name) {
  if (name.empty()) return std::nullopt;
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwnam_r(name.c_str(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) {
    return absl::NotFoundError(absl::StrCat("plugins.user: there is no user '", name, "'"));
  }
  return RunUser{entry.pw_uid, entry.pw_gid};
}

v1::Record EventRecord(v1::Event event) {
  v1::Record record;
  *record.mutable_event() = std::move(event);
  return record;
}

v1::AgentMessage ProgressMessage(const std::string& request_id, v1::RunProgress::State state,
                                 const std::string& run_id, double fraction, std::string_view text) {
  v1::AgentMessage message;
  v1::RunProgress& progress = *message.mutable_progress();
  progress.set_request_id(request_id);
  progress.set_state(state);
  progress.set_run_id(run_id);
  progress.set_fraction(fraction);
  progress.set_message(std::string(text));
  return message;
}

}  // namespace

// In the order of construction; destroyed in reverse.
struct Agent::Parts {
  explicit Parts(const AgentConfig& c) : config(c), clock(RealClock()) {}

  // The steps of a start. A part's callbacks may use any other part, as nothing runs before Serve.
  absl::Status MakeFolders();
  absl::Status MakeSpool();
  void MakeFactWatcher();
  std::shared_ptr<FactCollector> MakeFactCollector();
  void MakeScheduler();
  absl::Status MakeUploader();

  // What the callbacks of the parts do; each is named for what happened.
  void OnStart(const Scheduler::Start& start);
  void OnRefused(const std::string& request_id, const std::string& why);
  void OnRunNow(const v1::RunNow& request);
  void OnCancel(const v1::Cancel& cancel);
  bool OnFacts(const std::vector<v1::Fact>& facts, const std::vector<v1::Event>& events);
  v1::Hello MakeHello();
  v1::Heartbeat MakeHeartbeat();

  void Execute(const Scheduler::Start& start, const std::string& run_id, const PreparedBenchmark& benchmark,
               CancelToken& cancel);
  void Record(v1::Run run);
  bool Append(v1::Record record, Spool::Kind kind);
  // The collector's clock, as far as its Welcome tells.
  absl::Time CollectorTime() {
    MutexLock lock(mu);
    return clock.Now() + collector_ahead;
  }
  std::shared_ptr<const BenchmarkSet> Benchmarks() {
    MutexLock lock(mu);
    return benchmarks;
  }

  const AgentConfig& config;
  Clock& clock;
  Metrics metrics;
  std::optional<RunUser> user;
  std::string runs_folder;
  std::unique_ptr<AgentMetrics> counters;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<ProcessRunner> runner;
  std::unique_ptr<RunPool> pool;
  std::unique_ptr<GpuReader> gpus;
  std::unique_ptr<FactWatcher> facts;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<GrpcUploadConnector> connector;
  std::unique_ptr<Uploader> uploader;
  std::unique_ptr<HttpServer> http;
  bool stopped = false;

  Mutex mu;
  std::shared_ptr<const BenchmarkSet> benchmarks ABSL_GUARDED_BY(mu);
  absl::Duration collector_ahead ABSL_GUARDED_BY(mu);
  bool benchmarks_told ABSL_GUARDED_BY(mu) = false;  // to the collector, since they changed
};

// --- runs ------------------------------------------------------------------------------------------------

void Agent::Parts::OnStart(const Scheduler::Start& start) {
  const auto set = Benchmarks();
  const PreparedBenchmark* benchmark = set->Find(start.benchmark);
  const std::string run_id = NewUlid(clock.Now());
  absl::Status status = absl::NotFoundError("the benchmark is no longer configured");
  if (benchmark != nullptr) {
    status = pool->Start({run_id, start.benchmark, start.request_id},
                         [this, start, run_id, set, benchmark](CancelToken& cancel) {
                           Execute(start, run_id, *benchmark, cancel);
                         });
  }
  if (status.ok()) return;
  LogWarn("run not started", {{"benchmark", start.benchmark}, {"reason", status}});
  scheduler->Finished(start.benchmark);
  if (!start.request_id.empty()) OnRefused(start.request_id, Message(status));
}

void Agent::Parts::Execute(const Scheduler::Start& start, const std::string& run_id,
                           const PreparedBenchmark& benchmark, CancelToken& cancel) {
  PluginRunSpec spec;
  spec.plugin = benchmark.plugin;
  spec.params = benchmark.params;
  spec.benchmark = benchmark.benchmark.name();
  spec.suite = benchmark.benchmark.suite();
  spec.run_id = run_id;
  spec.trigger = start.trigger;
  spec.request_id = start.request_id;
  spec.scheduled = start.due;
  spec.facts_digest = facts->digest();
  spec.timeout = absl::Seconds(benchmark.benchmark.timeout_seconds());
  spec.work_root = runs_folder;
  spec.nice = config.nice;
  if (benchmark.plugin.manifest.privileges != Privileges::kRoot) spec.user = user;

  MonoTime next_progress = clock.Mono();
  const auto progress = [&](double fraction, std::string_view text) {
    if (start.request_id.empty() || clock.Mono() < next_progress) return;
    next_progress = clock.Mono() + kProgressInterval;
    uploader->Send(ProgressMessage(start.request_id, v1::RunProgress::STATE_RUNNING, run_id, fraction, text));
  };
  progress(0, "");

  v1::Run run = RunPlugin(spec, *runner, clock, cancel, progress);
  v1::AgentMessage finished =
      ProgressMessage(start.request_id, v1::RunProgress::STATE_FINISHED, run_id, 1, "");
  *finished.mutable_progress()->mutable_run() = run;
  Record(std::move(run));
  if (!start.request_id.empty()) uploader->Send(std::move(finished));
  scheduler->Finished(start.benchmark);
}

void Agent::Parts::Record(v1::Run run) {
  const auto kind = run.outcome() == v1::OUTCOME_SKIPPED ? Spool::Kind::kSkipped : Spool::Kind::kOther;
  counters->CountRun(run);
  v1::Record record;
  *record.mutable_run() = run;
  // Said only once it is durable: from then on it is the collector's for certain.
  if (!Append(std::move(record), kind)) return;
  LogInfo("run finished", {{"benchmark", run.benchmark()},
                           {"run", run.run_id()},
                           {"outcome", OutcomeName(run.outcome())},
                           {"seconds", run.duration_seconds()},
                           {"reason", run.reason()}});
}

bool Agent::Parts::Append(v1::Record record, Spool::Kind kind) {
  absl::StatusOr<uint64_t> sequence = spool->Append(record, kind);
  // A damaged spool has just been replaced by a new one, which takes the record.
  if (absl::IsDataLoss(sequence.status())) sequence = spool->Append(std::move(record), kind);
  if (!sequence.ok()) {
    counters->CountLost();
    LogError("record lost: the spool does not take it", {{"status", sequence.status()}});
    return false;
  }
  counters->NoteDrops(spool->stats().dropped);
  uploader->NotifyAppended();
  return true;
}

// --- what the collector asks -----------------------------------------------------------------------------

void Agent::Parts::OnRunNow(const v1::RunNow& request) {
  const v1::Trigger trigger =
      request.trigger() == v1::TRIGGER_UNSPECIFIED ? v1::TRIGGER_MANUAL : request.trigger();
  // Said first: the run may begin before RunNow returns.
  uploader->Send(ProgressMessage(request.request_id(), v1::RunProgress::STATE_QUEUED, "", 0, ""));
  // An agent that was frozen, or a slow network, must not start what was asked long ago.
  absl::Duration left = absl::Seconds(request.expires_seconds());
  if (request.sent_unix_ns() != 0) left -= CollectorTime() - absl::FromUnixNanos(request.sent_unix_ns());
  if (left <= absl::ZeroDuration()) {
    return OnRefused(request.request_id(), "the request expired before it reached the node");
  }
  const absl::Status status = scheduler->RunNow({request.request_id(), request.benchmark(), trigger, left});
  if (!status.ok()) OnRefused(request.request_id(), Message(status));
}

void Agent::Parts::OnRefused(const std::string& request_id, const std::string& why) {
  uploader->Send(ProgressMessage(request_id, v1::RunProgress::STATE_REFUSED, "", 0, why));
}

void Agent::Parts::OnCancel(const v1::Cancel& cancel) {
  const std::string reason = cancel.reason().empty() ? "cancelled by request" : cancel.reason();
  if (!cancel.request_id().empty() && scheduler->CancelRequest(cancel.request_id())) {
    return OnRefused(cancel.request_id(), reason);
  }
  pool->Cancel(cancel.run_id(), cancel.request_id(), reason);
}

// --- what the collector is told --------------------------------------------------------------------------

v1::Hello Agent::Parts::MakeHello() {
  v1::Hello hello;
  hello.mutable_node()->set_name(config.node_name);
  hello.mutable_node()->mutable_labels()->insert(config.node_labels.begin(), config.node_labels.end());
  hello.set_agent_version(FM_VERSION);
  hello.set_boot_id(BootId().value_or(""));
  for (const v1::Fact& fact : facts->facts()) *hello.add_facts() = fact;
  hello.set_facts_digest(facts->digest());
  MutexLock lock(mu);
  for (v1::Plugin& plugin : benchmarks->catalog().Describe()) *hello.add_plugins() = std::move(plugin);
  for (v1::Benchmark& b : benchmarks->Describe()) *hello.add_benchmarks() = std::move(b);
  benchmarks_told = true;
  return hello;
}

v1::Heartbeat Agent::Parts::MakeHeartbeat() {
  v1::Heartbeat heartbeat;
  const std::vector<RunPool::Running> running = pool->running();
  if (!running.empty()) {
    heartbeat.set_running_benchmark(running.front().benchmark);
    heartbeat.set_running_run_id(running.front().run_id);
  }
  absl::Time next = absl::InfiniteFuture();
  for (const Scheduler::Plan& plan : scheduler->Snapshot()) {
    if (plan.next_due >= next) continue;
    next = plan.next_due;
    heartbeat.set_next_benchmark(plan.benchmark);
    heartbeat.set_next_due_unix_ns(absl::ToUnixNanos(next));
  }
  MutexLock lock(mu);
  if (!std::exchange(benchmarks_told, true)) {
    for (v1::Plugin& plugin : benchmarks->catalog().Describe()) *heartbeat.add_plugins() = std::move(plugin);
    for (v1::Benchmark& b : benchmarks->Describe()) *heartbeat.add_benchmarks() = std::move(b);
  }
  return heartbeat;
}

bool Agent::Parts::OnFacts(const std::vector<v1::Fact>& now, const std::vector<v1::Event>& events) {
  bool safe = true;
  for (const v1::Event& event : events) {
    LogInfo("fact changed",
            {{"fact", event.subject()}, {"old", event.old_value()}, {"new", event.new_value()}});
    safe = Append(EventRecord(event), Spool::Kind::kOther) && safe;
  }
  v1::Record record;
  v1::FactsChanged& changed = *record.mutable_facts();
  changed.set_time_unix_ns(absl::ToUnixNanos(clock.Now()));
  changed.mutable_facts()->Add(now.begin(), now.end());
  changed.set_facts_digest(FactsDigest(now));
  return Append(std::move(record), Spool::Kind::kOther) && safe;
}

// --- life ------------------------------------------------------------------------------------------------

Agent::Agent(AgentConfig config, std::shared_ptr<const BenchmarkSet> benchmarks)
    : config_(std::move(config)), parts_(std::make_unique<Parts>(config_)) {
  MutexLock lock(parts_->mu);
  parts_->benchmarks = std::move(benchmarks);
}

Agent::~Agent() { Stop(); }

absl::Status Agent::Parts::MakeFolders() {
  FM_RETURN_IF_ERROR(fleetmark::MakeFolders(config.data_dir, 0755));
  runs_folder = absl::StrCat(config.data_dir, "/runs");
  // Folders of runs that an earlier agent did not live to end.
  FM_RETURN_IF_ERROR(RemoveTree(runs_folder));
  return fleetmark::MakeFolders(runs_folder, 0755);
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

std::shared_ptr<FactCollector> Agent::Parts::MakeFactCollector() {
  FactsOptions options;
  for (const FactFileConfig& file : config.fact_files) options.files.push_back({file.path, file.prefix});
  if (const char* digest = getenv("FLEETMARK_IMAGE_DIGEST")) options.image_digest = digest;
  gpus =
      std::make_unique<GpuReader>(ProbeBeside(std::filesystem::path(LauncherPath()).parent_path()), *runner);
  if (config.facts_gpus) options.gpus = [this] { return gpus->Read(); };
  return std::make_shared<FactCollector>(std::move(options));
}

void Agent::Parts::MakeFactWatcher() {
  FactWatcher::Options options;
  options.folder = config.data_dir;
  options.node = config.node_name;
  options.interval = config.facts_interval;
  options.collect = [this, collector = MakeFactCollector()] { return collector->Collect(facts->facts()); };
  options.on_change = [this](const auto& now, const auto& events) { return OnFacts(now, events); };
  facts = std::make_unique<FactWatcher>(std::move(options), clock);
}

void Agent::Parts::MakeScheduler() {
  Scheduler::Callbacks callbacks;
  callbacks.start = [this](const Scheduler::Start& start) { OnStart(start); };
  callbacks.refused = [this](const Scheduler::Request& request, const std::string& why) {
    OnRefused(request.request_id, why);
  };
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
  callbacks.make_heartbeat = [this] { return MakeHeartbeat(); };
  callbacks.on_run_now = [this](const v1::RunNow& request) { OnRunNow(request); };
  callbacks.on_connected = [this](const v1::Welcome& welcome) {
    MutexLock lock(mu);
    collector_ahead = absl::FromUnixNanos(welcome.time_unix_ns()) - clock.Now();
  };
  callbacks.on_cancel = [this](const v1::Cancel& cancel) { OnCancel(cancel); };
  uploader = std::make_unique<Uploader>(std::move(options), std::move(callbacks), *spool, *connector, clock);
  return absl::OkStatus();
}

absl::Status Agent::OpenData() {
  Parts& p = *parts_;
  FM_ASSIGN_OR_RETURN(p.user, FindUser(config_.plugin_user));
  FM_RETURN_IF_ERROR(p.MakeFolders());
  FM_RETURN_IF_ERROR(p.MakeSpool());
  p.runner = std::make_unique<ProcessRunner>(ProcessRunner::Options{LauncherPath()}, p.clock);
  p.pool = std::make_unique<RunPool>(kMaxConcurrentRuns);
  p.MakeFactWatcher();
  p.MakeScheduler();
  FM_RETURN_IF_ERROR(p.MakeUploader());
  p.counters = std::make_unique<AgentMetrics>(p.metrics, *p.spool, *p.uploader);
  return absl::OkStatus();
}

absl::Status Agent::Serve() {
  Parts& p = *parts_;
  if (!config_.http.host.empty()) {
    p.http = std::make_unique<HttpServer>(kHttpThreads);
    ServeAgentHttp(p.metrics, *p.http);
    FM_RETURN_IF_ERROR(p.http->Start(config_.http.host, config_.http.port).status());
  }
  p.facts->Start();
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

void Agent::Reload(std::shared_ptr<const BenchmarkSet> benchmarks) {
  Parts& p = *parts_;
  std::vector<Scheduler::Job> jobs = benchmarks->Jobs();
  {
    MutexLock lock(p.mu);
    p.benchmarks = std::move(benchmarks);
    p.benchmarks_told = false;
  }
  LogInfo("benchmarks reloaded", {{"benchmarks", jobs.size()}});
  p.scheduler->Reload(std::move(jobs));
}

void Agent::Stop() {
  Parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  if (p.scheduler != nullptr) p.scheduler->Stop();
  if (p.pool != nullptr) p.pool->Stop("the agent stops");
  if (p.facts != nullptr) p.facts->Stop();
  if (p.uploader != nullptr) p.uploader->Stop(config_.stop_timeout);
  if (p.http != nullptr) p.http->Stop();
}

}  // namespace fleetmark::agent
