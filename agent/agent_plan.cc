// What is to run: the node's own benchmarks and the collector's plan.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"

#include "agent/agent_parts.h"
#include "agent/plan_file.h"
#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/obs/log.h"
#include "common/run/log_tail.h"

namespace fleetmark::agent {

Agent::Parts::Sources Agent::Parts::Planned() {
  MutexLock lock(mu);
  return sources;
}

void Agent::Parts::UseKeptPlan() {
  if (!config.plan_accept) return;
  absl::StatusOr<v1::Plan> kept = LoadPlan(config.data_dir);
  auto merged = kept.ok() ? Planned().own->WithPlan(config, *kept) : kept.status();
  if (!merged.ok()) {
    // The collector sends it again, and is told what is wrong with it.
    LogWarn("the collector's last plan can't be used", {{"status", merged.status()}});
    return;
  }
  MutexLock lock(mu);
  sources.plan = *std::move(kept);
  benchmarks = *std::move(merged);
}

bool Agent::Parts::Publish(const Sources& seen, Sources next, std::shared_ptr<const BenchmarkSet> merged) {
  std::vector<Scheduler::Job> jobs = merged->Jobs();
  {
    MutexLock lock(mu);
    if (sources.own != seen.own || sources.plan.version() != seen.plan.version()) return false;
    sources = std::move(next);
    benchmarks = std::move(merged);
    benchmarks_told = false;
  }
  scheduler->Reload(std::move(jobs));
  return true;
}

absl::Status Agent::Parts::ApplyPlan(const v1::Plan& sent) {
  if (!config.plan_accept)
    return absl::PermissionDeniedError("this node takes no plans: plan.accept is false");
  while (true) {
    const Sources seen = Planned();
    FM_ASSIGN_OR_RETURN(auto merged, seen.own->WithPlan(config, sent));
    FM_RETURN_IF_ERROR(SavePlan(config.data_dir, sent));
    if (Publish(seen, {seen.own, sent}, std::move(merged))) return absl::OkStatus();
  }
}

void Agent::Parts::OnPlan(const v1::Plan& sent) {
  const absl::Status applied = ApplyPlan(sent);
  v1::AgentMessage message;
  v1::PlanStatus& status = *message.mutable_plan_status();
  status.set_plan_version(sent.version());
  status.set_accepted(applied.ok());
  if (applied.ok()) {
    LogInfo("plan taken", {{"plan", sent.version()}, {"benchmarks", sent.benchmarks_size()}});
  } else {
    LogWarn("plan refused; what ran before goes on", {{"plan", sent.version()}, {"status", applied}});
    for (absl::string_view line : absl::StrSplit(applied.message(), '\n')) {
      if (status.problems_size() == limits::kProblemsPerPlan) break;
      status.add_problems(ClipUtf8(std::string(line), limits::kReasonBytes));
    }
  }
  uploader->Send(std::move(message));
}

void Agent::Reload(std::shared_ptr<const BenchmarkSet> own) {
  Parts& p = *parts_;
  while (true) {
    const Parts::Sources seen = p.Planned();
    Parts::Sources next = {own, seen.plan};
    auto merged = own->WithPlan(config_, next.plan);
    if (!merged.ok()) {
      LogWarn("the collector's plan can't be used any more", {{"status", merged.status()}});
      next.plan.Clear();
      merged = own;
    }
    const size_t count = (*merged)->Jobs().size();
    if (!p.Publish(seen, std::move(next), *std::move(merged))) continue;
    LogInfo("benchmarks reloaded", {{"benchmarks", count}});
    return;
  }
}

}  // namespace fleetmark::agent
