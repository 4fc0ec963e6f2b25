#include "agent/agent_metrics.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

#include "common/model/outcome_name.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

// A counter whose value is kept elsewhere is brought up to it at each scrape.
void FollowCounter(Metrics& metrics, const std::string& name, const std::string& help,
                   std::function<uint64_t()> value) {
  Counter& counter = metrics.AddCounter(name, help);
  metrics.OnScrape([&counter, value = std::move(value)] {
    const double delta = static_cast<double>(value()) - counter.Value();
    if (delta > 0) counter.Add(delta);
  });
}

}  // namespace

AgentMetrics::AgentMetrics(Metrics& metrics, Spool& spool, Uploader& uploader)
    : metrics_(metrics),
      lost_(
          metrics.AddCounter("fleetmark_agent_records_lost_total", "Records that the spool could not take.")),
      run_seconds_(
          metrics.AddCounter("fleetmark_agent_run_seconds_total", "Time that runs took, of all benchmarks.")),
      noted_drops_(spool.stats().dropped) {
  for (const v1::Outcome outcome : {v1::OUTCOME_OK, v1::OUTCOME_FAILED, v1::OUTCOME_INVALID,
                                    v1::OUTCOME_TIMEOUT, v1::OUTCOME_SKIPPED, v1::OUTCOME_CANCELLED}) {
    metrics_.AddCounter("fleetmark_agent_runs_total", "Runs by outcome.",
                        {{"outcome", OutcomeName(outcome)}});
  }
  Gauge& records = metrics.AddGauge("fleetmark_agent_spool_records", "Records that wait for a collector.");
  Gauge& bytes = metrics.AddGauge("fleetmark_agent_spool_bytes", "Size of the records that wait.");
  Gauge& connected = metrics.AddGauge("fleetmark_agent_connected", "1 while a collector is connected.");
  metrics.OnScrape([&] {
    const Spool::Stats stats = spool.stats();
    records.Set(static_cast<double>(stats.records));
    bytes.Set(static_cast<double>(stats.bytes));
    connected.Set(uploader.stats().connected_to.empty() ? 0 : 1);
  });
  FollowCounter(metrics, "fleetmark_agent_spool_dropped_total", "Records that a full spool dropped.",
                [&spool] { return spool.stats().dropped; });
  FollowCounter(metrics, "fleetmark_agent_records_sent_total", "Records sent, with those sent again.",
                [&uploader] { return uploader.stats().records_sent; });
  FollowCounter(metrics, "fleetmark_agent_records_refused_total",
                "Records that a collector refused for good.",
                [&uploader] { return uploader.stats().records_refused; });
  FollowCounter(metrics, "fleetmark_agent_connections_total", "Connections to a collector.",
                [&uploader] { return uploader.stats().connections; });
  FollowCounter(metrics, "fleetmark_agent_connection_failures_total", "Connections that failed or broke.",
                [&uploader] { return uploader.stats().failures; });
}

void AgentMetrics::CountRun(const v1::Run& run) {
  metrics_
      .AddCounter("fleetmark_agent_runs_total", "Runs by outcome.", {{"outcome", OutcomeName(run.outcome())}})
      .Add();
  run_seconds_.Add(run.duration_seconds());
}

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
