#include "agent/run/benchmark_runner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/obs/log.h"
#include "common/run/log_tail.h"

namespace fleetmark::agent {
namespace {

// Until it is known how the run went.
v1::Run NotedRun(const PluginRunSpec& spec, absl::Time now) {
  v1::Run run = DescribeRun(spec);
  run.set_started_unix_ns(std::max<int64_t>(0, absl::ToUnixNanos(now)));
  return run;
}

}  // namespace

std::variant<v1::Run, BenchmarkRunner::NotNow> BenchmarkRunner::Execute(
    Job job, CancelToken& cancel, absl::FunctionRef<void(double, std::string_view)> progress) {
  const std::string& benchmark = job.spec.benchmark;
  const GateAnswer answer = parts_.gate.BeforeRun(job.query);
  if (!answer.free()) {
    parts_.budget.End(benchmark, job.reserved, absl::ZeroDuration());
    const absl::Duration least =
        job.spec.request_id.empty() ? options_.retry_after : options_.request_retry_after;
    return NotNow{answer.reason, answer.by, std::max(least, answer.retry_after)};
  }
  std::string lease;  // empty: it needs none
  if (job.needs_lease) {
    const absl::StatusOr<LeaseGrant> grant =
        parts_.leases.Ask(benchmark, TimeLimit(job.spec), options_.lease_timeout);
    if (!grant.ok()) {
      parts_.budget.End(benchmark, job.reserved, absl::ZeroDuration());
      return NotNow{Message(grant.status()), kLease,
                    RetryAfter(grant.status()).value_or(options_.retry_after)};
    }
    lease = grant->request_id;
  }
  parts_.budget.Keep();
  const absl::Status noted = parts_.spool.NoteStarted(NotedRun(job.spec, parts_.clock.Now()));
  // A full disk is no reason not to measure; only a kill right now would go unrecorded.
  if (!noted.ok()) LogWarn("the start of a run can't be noted", {{"status", noted}});

  std::vector<std::string> gpus;
  for (const Gpu& gpu : job.query.gpus) gpus.push_back(gpu.name);
  const Conditions before = parts_.conditions.Before(gpus);
  const MonoTime began = parts_.clock.Mono();
  v1::Run run;
  {
    Gate::Watch watch(parts_.gate, job.query, cancel);
    job.spec.on_started = [&watch](pid_t reaper) { watch.Began(reaper); };
    run = RunPlugin(job.spec, parts_.runner, parts_.clock, cancel, progress);
  }
  parts_.budget.End(benchmark, job.reserved, parts_.clock.Mono() - began);
  for (auto& [name, value] : parts_.conditions.After(before)) (*run.mutable_conditions())[name] = value;
  if (!lease.empty()) parts_.leases.Release(lease);
  return run;
}

v1::Run MissedRun(const PluginRunSpec& spec, const std::string& why) {
  v1::Run run = DescribeRun(spec);
  run.set_outcome(v1::OUTCOME_SKIPPED);
  run.set_ending(v1::ENDING_SKIPPED);
  run.set_reason(ClipUtf8(absl::StrCat("not started: ", why), limits::kReasonBytes));
  return run;
}

v1::Run LostRun(v1::Run run) {
  run.set_outcome(v1::OUTCOME_CANCELLED);
  run.set_ending(v1::ENDING_LOST);
  run.set_reason("the agent was killed during the run");
  return run;
}

}  // namespace fleetmark::agent
