#include "agent/run/benchmark_runner.h"

#include <algorithm>
#include <optional>
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
  const auto put_off = [&](NotNow why) {
    parts_.budget.End(job.spec.benchmark, job.reserved, absl::ZeroDuration());
    return why;
  };
  const GateAnswer answer = parts_.gate.BeforeRun(job.query);
  if (!answer.free()) {
    const absl::Duration least =
        job.spec.request_id.empty() ? options_.retry_after : options_.request_retry_after;
    return put_off({answer.reason, answer.by, std::max(least, answer.retry_after)});
  }
  std::optional<LeaseGrant> lease;
  if (job.needs_lease) {
    absl::StatusOr<LeaseGrant> grant =
        parts_.leases.Ask(job.spec.benchmark, TimeLimit(job.spec), options_.lease_timeout);
    if (!grant.ok()) {
      return put_off(
          {Message(grant.status()), kLease, RetryAfter(grant.status()).value_or(options_.retry_after)});
    }
    lease = *std::move(grant);
  }
  std::vector<std::string> gpus;
  for (const Gpu& gpu : job.query.gpus) gpus.push_back(gpu.name);
  const Conditions before = parts_.conditions.Before(gpus);
  // A driver may have taken long to answer.
  if (lease.has_value() && !lease->MayStart(parts_.clock.Mono())) {
    parts_.leases.Release(lease->request_id);
    return put_off({"the lease would have run out before the run", kLease, options_.retry_after});
  }
  v1::Run run = Run(job, before, cancel, progress);
  if (lease.has_value()) parts_.leases.Release(lease->request_id);
  return run;
}

v1::Run BenchmarkRunner::Run(Job& job, const Conditions& before, CancelToken& cancel,
                             absl::FunctionRef<void(double, std::string_view)> progress) {
  parts_.budget.Keep();
  const absl::Status noted = parts_.spool.NoteStarted(NotedRun(job.spec, parts_.clock.Now()));
  // A full disk is no reason not to measure; only a kill right now would go unrecorded.
  if (!noted.ok()) LogWarn("the start of a run can't be noted", {{"status", noted}});
  const MonoTime began = parts_.clock.Mono();
  v1::Run run;
  {
    Gate::Watch watch(parts_.gate, job.query, cancel);
    job.spec.on_started = [&watch](pid_t reaper) { watch.Began(reaper); };
    run = RunPlugin(job.spec, parts_.runner, parts_.clock, cancel, progress);
  }
  parts_.budget.End(job.spec.benchmark, job.reserved, parts_.clock.Mono() - began);
  for (auto& [name, value] : parts_.conditions.After(before)) (*run.mutable_conditions())[name] = value;
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
