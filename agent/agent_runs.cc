// Runs: from the scheduler's start to the record in the spool.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/agent_parts.h"
#include "agent/facts/facts.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/outcome_name.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(250);

}  // namespace

PluginRunSpec Agent::Parts::MakeSpec(const Scheduler::Start& start, const std::string& run_id,
                                     const PreparedBenchmark& benchmark) {
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
  spec.devices.assign(benchmark.benchmark.devices().begin(), benchmark.benchmark.devices().end());
  spec.work_root = runs_folder;
  spec.nice = config.nice;
  spec.io_class = config.io_class;
  spec.bounds = config.run_bounds;
  spec.seals = &seals;
  if (benchmark.plugin.manifest.privileges != Privileges::kRoot) spec.user = user;
  return spec;
}

GateQuery Agent::Parts::MakeQuery(const Scheduler::Start& start, const PreparedBenchmark& benchmark) {
  const PluginResources& uses = benchmark.plugin.manifest.resources;
  GateQuery query;
  query.benchmark = start.benchmark;
  query.trigger = start.trigger;
  query.cpu_exclusive = uses.cpu == ResourceUse::kExclusive;
  query.uses_gpu = uses.gpu != ResourceUse::kNone;
  if (query.uses_gpu) {
    const auto& devices = benchmark.benchmark.devices();
    query.gpus = GpusOf(facts->facts(), std::vector<std::string>(devices.begin(), devices.end()));
  }
  query.job_id = start.job_id;
  return query;
}

void Agent::Parts::OnStart(const Scheduler::Start& start) {
  const auto set = Benchmarks();
  const PreparedBenchmark* benchmark = set->Find(start.benchmark);
  absl::Status status = absl::NotFoundError("the benchmark is no longer configured");
  if (benchmark != nullptr) {
    const std::string run_id = NewUlid(clock.Now());
    BenchmarkRunner::Job job{MakeSpec(start, run_id, *benchmark), MakeQuery(start, *benchmark),
                             budget->Begin(start.benchmark), benchmark->benchmark.lease()};
    const absl::Duration reserved = job.reserved;
    status = pool->Start({run_id, start.benchmark, start.request_id},
                         [this, start, job = std::move(job)](CancelToken& cancel) mutable {
                           Execute(start, std::move(job), cancel);
                         });
    if (!status.ok()) budget->End(start.benchmark, reserved, absl::ZeroDuration());
  }
  if (status.ok()) return;
  LogWarn("run not started", {{"benchmark", start.benchmark}, {"reason", status}});
  scheduler->Finished(start.benchmark);
  if (!start.request_id.empty()) OnRefused(start.request_id, Message(status));
}

void Agent::Parts::Execute(const Scheduler::Start& start, BenchmarkRunner::Job job, CancelToken& cancel) {
  const GrpcTimers::Exact exact(grpc_timers);
  const std::string run_id = job.spec.run_id;
  MonoTime next_progress = clock.Mono();
  const auto progress = [&](double fraction, std::string_view text) {
    if (start.request_id.empty() || clock.Mono() < next_progress) return;
    next_progress = clock.Mono() + kProgressInterval;
    Tell(ProgressMessage(start.request_id, v1::RunProgress::STATE_RUNNING, run_id, fraction, text));
  };

  auto result = benchmark_runner->Execute(std::move(job), cancel, progress);
  if (const auto* not_now = std::get_if<BenchmarkRunner::NotNow>(&result)) {
    counters->CountDeferred(not_now->cause);
    if (not_now->why != start.deferred_why) {
      LogInfo("run deferred", {{"benchmark", start.benchmark}, {"reason", not_now->why}});
    }
    if (!start.request_id.empty()) {
      Tell(ProgressMessage(start.request_id, v1::RunProgress::STATE_QUEUED, "", 0, not_now->why));
    }
    return scheduler->Deferred(start, not_now->why, not_now->retry_after);
  }
  v1::Run& run = std::get<v1::Run>(result);
  v1::AgentMessage finished =
      ProgressMessage(start.request_id, v1::RunProgress::STATE_FINISHED, run_id, 1, "");
  *finished.mutable_progress()->mutable_run() = run;
  // Something of the node may have changed that explains it.
  if (run.outcome() == v1::OUTCOME_FAILED || run.outcome() == v1::OUTCOME_INVALID ||
      run.outcome() == v1::OUTCOME_TIMEOUT) {
    facts->RefreshSoon();
  }
  Record(std::move(run));
  if (!start.request_id.empty()) Tell(std::move(finished));
  scheduler->Finished(start.benchmark);
  worked = true;
}

void Agent::Parts::OnMissed(const std::string& benchmark, absl::Time due, const std::string& why) {
  const auto set = Benchmarks();
  const PreparedBenchmark* prepared = set->Find(benchmark);
  if (prepared == nullptr) return;
  counters->CountMissed();
  Scheduler::Start start;
  start.benchmark = benchmark;
  start.due = due;
  Record(MissedRun(MakeSpec(start, NewUlid(clock.Now()), *prepared), why));
}

void Agent::Parts::RecordLostRuns() {
  const absl::StatusOr<std::vector<v1::Run>> lost = spool->StartedRuns();
  if (!lost.ok()) LogWarn("runs of an earlier agent can't be read", {{"status", lost.status()}});
  if (!lost.ok()) return;
  for (const v1::Run& run : *lost) Record(LostRun(run));
}

void Agent::Parts::Record(v1::Run run) {
  const auto kind = run.outcome() == v1::OUTCOME_SKIPPED ? Spool::Kind::kSkipped : Spool::Kind::kOther;
  counters->CountRun(run);
  history.Note(run, clock.Now());
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
    ++lost_records;
    LogError("record lost: the spool does not take it", {{"status", sequence.status()}});
    return false;
  }
  counters->NoteDrops(spool->stats().dropped);
  uploader->NotifyAppended();
  return true;
}

}  // namespace fleetmark::agent
