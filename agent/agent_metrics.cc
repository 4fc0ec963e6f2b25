#include "agent/agent_metrics.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "agent/run/benchmark_runner.h"
#include "common/model/outcome_name.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

// A counter whose value is kept elsewhere is brought up to it at each scrape.
void FollowCounter(Metrics& metrics, const std::string& name, const std::string& help,
                   std::function<double()> value, const Metrics::LabelMap& labels = {}) {
  Counter& counter = metrics.AddCounter(name, help, labels);
  metrics.OnScrape([&counter, value = std::move(value)] {
    const double delta = value() - counter.Value();
    if (delta > 0) counter.Add(delta);
  });
}

Counter& RunsBy(Metrics& metrics, v1::Outcome outcome) {
  return metrics.AddCounter("fleetmark_agent_runs_total", "Runs by outcome.",
                            {{"outcome", OutcomeName(outcome)}});
}

Counter& DeferredBy(Metrics& metrics, const std::string& cause) {
  return metrics.AddCounter("fleetmark_agent_runs_deferred_total",
                            "Times that a run could not begin and was put off, by what kept it off.",
                            {{"reason", cause}});
}

constexpr std::pair<GateAnswer::State, const char*> kGateStates[] = {
    {GateAnswer::State::kFree, "free"},
    {GateAnswer::State::kBusy, "busy"},
    {GateAnswer::State::kUnknown, "unknown"}};

}  // namespace

AgentMetrics::AgentMetrics(Metrics& metrics, const Parts& parts)
    : metrics_(metrics),
      lost_(
          metrics.AddCounter("fleetmark_agent_records_lost_total", "Records that the spool could not take.")),
      missed_(metrics.AddCounter("fleetmark_agent_runs_missed_total",
                                 "Scheduled runs that were put off until their next time came.")),
      run_seconds_(
          metrics.AddCounter("fleetmark_agent_run_seconds_total", "Time that runs took, of all benchmarks.")),
      noted_drops_(parts.spool.stats().dropped) {
  for (const v1::Outcome outcome : {v1::OUTCOME_OK, v1::OUTCOME_FAILED, v1::OUTCOME_INVALID,
                                    v1::OUTCOME_TIMEOUT, v1::OUTCOME_SKIPPED, v1::OUTCOME_CANCELLED}) {
    RunsBy(metrics, outcome);
  }
  FollowSpool(parts.spool);
  FollowUploader(parts.uploader);
  FollowGate(parts.gate);
  FollowBudget(parts.budget);
}

void AgentMetrics::FollowSpool(Spool& spool) {
  Gauge& records = metrics_.AddGauge("fleetmark_agent_spool_records", "Records that wait for a collector.");
  Gauge& bytes = metrics_.AddGauge("fleetmark_agent_spool_bytes", "Size of the records that wait.");
  metrics_.OnScrape([&] {
    const Spool::Stats stats = spool.stats();
    records.Set(static_cast<double>(stats.records));
    bytes.Set(static_cast<double>(stats.bytes));
  });
  FollowCounter(metrics_, "fleetmark_agent_spool_dropped_total", "Records that a full spool dropped.",
                [&spool] { return static_cast<double>(spool.stats().dropped); });
}

void AgentMetrics::FollowUploader(Uploader& uploader) {
  Gauge& connected = metrics_.AddGauge("fleetmark_agent_connected", "1 while a collector is connected.");
  metrics_.OnScrape([&] { connected.Set(uploader.stats().connected_to.empty() ? 0 : 1); });
  const auto follow = [&](const std::string& name, const std::string& help,
                          uint64_t Uploader::Stats::*count) {
    FollowCounter(metrics_, name, help,
                  [&uploader, count] { return static_cast<double>(uploader.stats().*count); });
  };
  follow("fleetmark_agent_records_sent_total", "Records sent, with those sent again.",
         &Uploader::Stats::records_sent);
  follow("fleetmark_agent_records_refused_total", "Records that a collector refused for good.",
         &Uploader::Stats::records_refused);
  follow("fleetmark_agent_connections_total", "Connections to a collector.", &Uploader::Stats::connections);
  follow("fleetmark_agent_connection_failures_total", "Connections that failed or broke.",
         &Uploader::Stats::failures);
}

void AgentMetrics::FollowGate(Gate& gate) {
  const std::vector<Gate::SourceState> sources = gate.source_states();
  for (const char* cause : {Gate::kCoolDown, BenchmarkRunner::kLease}) DeferredBy(metrics_, cause);
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& source = sources[i].name;
    DeferredBy(metrics_, source);
    FollowCounter(
        metrics_, "fleetmark_agent_runs_ended_by_gate_total", "Runs that a gate source ended, by source.",
        [&gate, i] { return static_cast<double>(gate.source_states()[i].runs_ended); }, {{"source", source}});
    for (const auto& [state, name] : kGateStates) {
      Gauge& gauge = metrics_.AddGauge("fleetmark_agent_gate_source_state",
                                       "1 for what a gate source answered last; all 0 until it is asked.",
                                       {{"source", source}, {"state", name}});
      metrics_.OnScrape(
          [&gate, &gauge, i, state = state] { gauge.Set(gate.source_states()[i].last == state ? 1 : 0); });
    }
  }
}

void AgentMetrics::FollowBudget(Budget& budget) {
  Gauge& allowed = metrics_.AddGauge("fleetmark_agent_budget_allowed_ratio",
                                     "Share of the node's time that scheduled runs may take; 1: no budget.");
  Gauge& used = metrics_.AddGauge("fleetmark_agent_budget_used_ratio",
                                  "How much of what may be spent at once is spent; at 1 due runs wait.");
  metrics_.OnScrape([&budget, &allowed, &used] {
    allowed.Set(std::min(1.0, budget.share()));
    used.Set(budget.used());
  });
  FollowCounter(metrics_, "fleetmark_agent_budget_spent_seconds_total",
                "Node time that runs were charged, those that a person asked for too.",
                [&budget] { return absl::ToDoubleSeconds(budget.spent()); });
}

void AgentMetrics::CountRun(const v1::Run& run) {
  RunsBy(metrics_, run.outcome()).Add();
  run_seconds_.Add(run.duration_seconds());
}

void AgentMetrics::CountDeferred(const std::string& cause) { DeferredBy(metrics_, cause).Add(); }

void AgentMetrics::NoteDrops(uint64_t dropped) {
  MutexLock lock(mu_);
  if (dropped <= noted_drops_) return;
  LogWarn("spool is full: oldest records dropped", {{"now", dropped - noted_drops_}, {"in_all", dropped}});
  noted_drops_ = dropped;
}

void ServeAgentHttp(Metrics& metrics, HttpServer& server) {
  const auto text = [](std::string body) {
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(body)};
  };
  server.Handle("GET", "/metrics", [&metrics, text](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    return text(metrics.Serialize());
  });
  for (const char* path : {"/healthz", "/readyz"}) {
    server.Handle("GET", path,
                  [text](const HttpRequest&) -> absl::StatusOr<HttpResponse> { return text("ok\n"); });
  }
}

}  // namespace fleetmark::agent
