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
namespace {

constexpr int kMaxProblems = 20;  // told to the collector

}  // namespace

void Agent::Parts::UseKeptPlan() {
  if (!config.plan_accept) return;
  absl::StatusOr<v1::Plan> kept = LoadPlan(config.data_dir);
  auto merged = kept.ok() ? Own()->WithPlan(config, *kept) : kept.status();
  if (!merged.ok()) {
    // The collector sends it again, and is told what is wrong with it.
    LogWarn("the collector's last plan can't be used", {{"status", merged.status()}});
    return;
  }
  MutexLock lock(mu);
  plan = *std::move(kept);
  benchmarks = *std::move(merged);
}

bool Agent::Parts::Publish(const std::shared_ptr<const BenchmarkSet>& made_from, const v1::Plan& with,
                           std::shared_ptr<const BenchmarkSet> merged) {
  std::vector<Scheduler::Job> jobs = merged->Jobs();
  {
    MutexLock lock(mu);
    if (own != made_from) return false;
    plan = with;
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
    const auto from = Own();
    FM_ASSIGN_OR_RETURN(auto merged, from->WithPlan(config, sent));
    FM_RETURN_IF_ERROR(SavePlan(config.data_dir, sent));
    if (Publish(from, sent, std::move(merged))) return absl::OkStatus();
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
      if (status.problems_size() == kMaxProblems) break;
      status.add_problems(ClipUtf8(std::string(line), limits::kReasonBytes));
    }
  }
  uploader->Send(std::move(message));
}

void Agent::Reload(std::shared_ptr<const BenchmarkSet> own) {
  Parts& p = *parts_;
  v1::Plan plan;
  {
    MutexLock lock(p.mu);
    p.own = own;
    plan = p.plan;
  }
  auto merged = own->WithPlan(config_, plan);
  if (!merged.ok()) {
    LogWarn("the collector's plan can't be used any more", {{"status", merged.status()}});
    plan.Clear();
    merged = own;
  }
  LogInfo("benchmarks reloaded", {{"benchmarks", (*merged)->Jobs().size()}});
  p.Publish(own, plan, *std::move(merged));
}

}  // namespace fleetmark::agent
