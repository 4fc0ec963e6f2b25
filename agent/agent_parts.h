// The parts of the agent, in the order of their construction, and what joins them. agent.cc makes and ends
// them, agent_runs.cc takes runs from the scheduler to the spool, agent_uplink.cc speaks with the collector,
// agent_plan.cc joins the collector's plan with the node's own benchmarks.
//
// Thread-safety: the steps of a start and of a stop are main's; the callbacks, any thread.
// Ownership: owns every part; destroyed in reverse.
#ifndef FLEETMARK_AGENT_AGENT_PARTS_H_
#define FLEETMARK_AGENT_AGENT_PARTS_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "agent/agent.h"
#include "agent/agent_metrics.h"
#include "agent/facts/conditions.h"
#include "agent/facts/fact_watcher.h"
#include "agent/facts/facts.h"
#include "agent/gate/gate.h"
#include "agent/gate/kubelet_client.h"
#include "agent/gpu/gpu_reader.h"
#include "agent/lease/lease_client.h"
#include "agent/local_control.h"
#include "agent/run/benchmark_runner.h"
#include "agent/run/local_requests.h"
#include "agent/run/run_history.h"
#include "agent/run/run_pool.h"
#include "agent/schedule/budget.h"
#include "agent/schedule/scheduler.h"
#include "agent/spool/spool.h"
#include "agent/upload/grpc_timers.h"
#include "agent/upload/grpc_upload_stream.h"
#include "agent/upload/uploader.h"
#include "common/base/clock.h"
#include "common/http/http_server.h"
#include "common/net/health_server.h"
#include "common/obs/metrics.h"
#include "common/run/cgroup.h"
#include "common/run/plugin_run.h"
#include "common/run/process_runner.h"

namespace fleetmark::agent {

// A message on how a requested run is getting on.
v1::AgentMessage ProgressMessage(const std::string& request_id, v1::RunProgress::State state,
                                 const std::string& run_id, double fraction, std::string_view text);

struct Agent::Parts {
  explicit Parts(const AgentConfig& c) : config(c), clock(RealClock()) {}

  // The steps of a start. A part's callbacks may use any other part, as nothing runs before Serve.
  absl::Status MakeFolders();
  absl::Status MakeSpool();
  absl::Status MakeRunner();
  void MakeGate();
  std::shared_ptr<FactCollector> MakeFactCollector();
  void MakeFactWatcher();
  void MakeScheduler();
  absl::Status ServeLocally();
  absl::Status ServeHealth();
  absl::Status MakeUploader();

  // What the callbacks of the parts do; each is named for what happened.
  void OnStart(const Scheduler::Start& start);
  void OnMissed(const std::string& benchmark, absl::Time due, const std::string& why);
  void OnRefused(const std::string& request_id, const std::string& why);
  void OnRunNow(const v1::RunNow& request);
  void OnCancel(const v1::Cancel& cancel);
  void OnPlan(const v1::Plan& sent);
  bool OnFacts(const std::vector<v1::Fact>& facts, const std::vector<v1::Event>& events);
  v1::Hello MakeHello();
  v1::Heartbeat MakeHeartbeat();

  // Where what is to run comes from.
  struct Sources {
    std::shared_ptr<const BenchmarkSet> own;  // as configured on the node
    v1::Plan plan;                            // the collector's
  };
  Sources Planned();
  // Before there is a scheduler.
  void UseKeptPlan();
  absl::Status ApplyPlan(const v1::Plan& sent);
  // Makes `merged`, of `next`, what is to run. False, and nothing is done, when another thread has published
  // since `seen` was looked at.
  bool Publish(const Sources& seen, Sources next, std::shared_ptr<const BenchmarkSet> merged);
  PluginRunSpec MakeSpec(const Scheduler::Start& start, const std::string& run_id,
                         const PreparedBenchmark& benchmark);
  GateQuery MakeQuery(const Scheduler::Start& start, const PreparedBenchmark& benchmark);
  // To whoever asked for the run: a command on this node, or the collector.
  void Tell(v1::AgentMessage progress);
  absl::StatusOr<v1::RunProgress> RunLocally(const LocalRunRequest& request);
  std::string Problem();
  std::string HealthLine();
  void Execute(const Scheduler::Start& start, BenchmarkRunner::Job job, CancelToken& cancel);
  void RecordLostRuns();
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
  GrpcTimers& grpc_timers = GrpcTimers::TakeOver(clock);
  Metrics metrics;
  std::optional<RunUser> user;
  std::string runs_folder;
  std::unique_ptr<AgentMetrics> counters;
  RunHistory history;
  std::atomic<uint64_t> lost_records = 0;
  // While it connects; and during a run, in which the kubelet may be asked.
  std::optional<GrpcTimers::Exact> connecting;  // the uploader's thread alone, once it runs
  std::atomic<bool> worked = true;              // since memory was last given back
  LocalRequests local_requests{clock};
  std::unique_ptr<Spool> spool;
  std::optional<CgroupRoot> cgroups;
  FolderSeals seals{clock};
  std::unique_ptr<ProcessRunner> runner;
  std::unique_ptr<GpuReader> gpus;
  std::unique_ptr<ConditionsProbe> conditions;
  KubeletClient kubelet{config.gate.pod_resources.socket};
  std::unique_ptr<Budget> budget;
  std::unique_ptr<Gate> gate;
  LeaseClient leases{[this](v1::AgentMessage message) { return uploader->Send(std::move(message)); }, clock};
  std::unique_ptr<BenchmarkRunner> benchmark_runner;
  std::unique_ptr<RunPool> pool;
  std::unique_ptr<FactWatcher> facts;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<GrpcUploadConnector> connector;
  std::unique_ptr<Uploader> uploader;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<HttpServer> local;
  std::unique_ptr<HealthServer> health;
  bool stopped = false;

  Mutex mu;
  Sources sources ABSL_GUARDED_BY(mu);
  std::shared_ptr<const BenchmarkSet> benchmarks ABSL_GUARDED_BY(mu);  // of both sources
  absl::Duration collector_ahead ABSL_GUARDED_BY(mu);
  bool benchmarks_told ABSL_GUARDED_BY(mu) = false;  // to the collector, since they changed
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_AGENT_PARTS_H_
