// What the collector asks of the agent, and what it is told.
#include <utility>

#include "absl/strings/str_cat.h"

#include "agent/agent_parts.h"
#include "agent/facts/facts.h"
#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

v1::Record EventRecord(v1::Event event) {
  v1::Record record;
  *record.mutable_event() = std::move(event);
  return record;
}

}  // namespace

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
  const absl::Status status =
      scheduler->RunNow({request.request_id(), request.benchmark(), trigger, left, ""});
  if (!status.ok()) OnRefused(request.request_id(), Message(status));
}

void Agent::Parts::Tell(v1::AgentMessage progress) {
  if (!local_requests.OnProgress(progress.progress())) uploader->Send(std::move(progress));
}

void Agent::Parts::OnRefused(const std::string& request_id, const std::string& why) {
  Tell(ProgressMessage(request_id, v1::RunProgress::STATE_REFUSED, "", 0, why));
}

void Agent::Parts::OnCancel(const v1::Cancel& cancel) {
  const std::string reason = cancel.reason().empty() ? "cancelled by request" : cancel.reason();
  if (!cancel.request_id().empty() && scheduler->CancelRequest(cancel.request_id())) {
    return OnRefused(cancel.request_id(), reason);
  }
  pool->Cancel(cancel.run_id(), cancel.request_id(), reason);
}

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
  heartbeat.set_budget_used(budget->used());
  for (const Scheduler::Plan& plan : scheduler->Snapshot()) {
    if (!plan.waits_for.empty() && heartbeat.waits_for().empty()) {
      heartbeat.set_waits_for(
          absl::StrCat(plan.benchmark, ": ", plan.waits_for).substr(0, limits::kReasonBytes));
    }
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

}  // namespace fleetmark::agent
