#include "agent/agent_metrics.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "agent/run/benchmark_runner.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_upload_stream.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

// Answers what the test sets.
class FakeSource final : public GateSource {
 public:
  FakeSource(std::string name, GateAnswer& answer) : name_(std::move(name)), answer_(answer) {}
  std::string_view name() const override { return name_; }
  GateAnswer BeforeRun(const GateQuery&) override { return answer_; }
  GateAnswer DuringRun(const GateQuery&, pid_t) override { return answer_; }

 private:
  const std::string name_;
  const GateAnswer& answer_;
};

class AgentMetricsTest : public ::testing::Test {
 protected:
  AgentMetricsTest() {
    Spool::Options spool;
    spool.folder = folder_.path();
    spool_ = *Spool::Open(spool, clock_);
    Uploader::Options upload;
    upload.collectors = {"c1:1"};
    uploader_ = std::make_unique<Uploader>(upload, Uploader::Callbacks{}, *spool_, collector_, clock_);
    std::vector<std::unique_ptr<GateSource>> sources;
    sources.push_back(std::make_unique<FakeSource>("slurm", slurm_));
    sources.push_back(std::make_unique<FakeSource>("pressure", pressure_));
    gate_ = std::make_unique<Gate>(Gate::Options{}, std::move(sources), clock_);
    budget_ = std::make_unique<Budget>(Budget::Options{.share = 0.01}, clock_);
    counters_ =
        std::make_unique<AgentMetrics>(metrics_, AgentMetrics::Parts{*spool_, *uploader_, *gate_, *budget_});
  }

  std::string Scrape() { return metrics_.Serialize(); }

  TemporaryFolder folder_;
  FakeClock clock_;
  FakeCollector collector_;
  GateAnswer slurm_;
  GateAnswer pressure_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Budget> budget_;
  Metrics metrics_;
  std::unique_ptr<AgentMetrics> counters_;
};

TEST_F(AgentMetricsTest, TheStateOfAGateSourceIsItsLastAnswer) {
  for (const char* state : {"free", "busy", "unknown"}) {
    EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_gate_source_state{source=\"slurm\",state=\"" +
                                    std::string(state) + "\"} 0\n"));
  }
  slurm_ = GateAnswer::Free();
  pressure_ = GateAnswer::Unknown("no /proc");
  gate_->BeforeRun({});
  EXPECT_THAT(Scrape(), HasSubstr("gate_source_state{source=\"slurm\",state=\"free\"} 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("gate_source_state{source=\"pressure\",state=\"unknown\"} 1\n"));
  slurm_ = GateAnswer::Busy("job 1 runs here");
  gate_->BeforeRun({});
  EXPECT_THAT(Scrape(), HasSubstr("gate_source_state{source=\"slurm\",state=\"free\"} 0\n"));
  EXPECT_THAT(Scrape(), HasSubstr("gate_source_state{source=\"slurm\",state=\"busy\"} 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("gate_source_state{source=\"pressure\",state=\"unknown\"} 1\n"))
      << "it was not asked again";
}

TEST_F(AgentMetricsTest, WhatKeepsRunsOffIsCountedByReason) {
  for (const char* reason : {"slurm", "pressure", "cool_down", "lease"}) {
    EXPECT_THAT(Scrape(),
                HasSubstr("fleetmark_agent_runs_deferred_total{reason=\"" + std::string(reason) + "\"} 0\n"));
  }
  pressure_ = GateAnswer::Busy("3 cores are used");
  counters_->CountDeferred(gate_->BeforeRun({}).by);
  counters_->CountDeferred(BenchmarkRunner::kLease);
  counters_->CountDeferred(BenchmarkRunner::kLease);
  counters_->CountMissed();
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_deferred_total{reason=\"pressure\"} 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_deferred_total{reason=\"lease\"} 2\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_missed_total 1\n"));
}

TEST_F(AgentMetricsTest, RunsThatTheGateEndsAreCountedBySource) {
  slurm_ = GateAnswer::Busy("job 1 runs here");
  {
    CancelToken cancel;
    Gate::Watch watch(*gate_, {}, cancel);
    watch.Began(77);
    while (!cancel.cancelled()) {
      clock_.AwaitWaiters(1);
      clock_.Advance(absl::Milliseconds(200));
    }
  }
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_ended_by_gate_total{source=\"slurm\"} 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_ended_by_gate_total{source=\"pressure\"} 0\n"));
}

TEST_F(AgentMetricsTest, TheBudgetTellsWhatIsAllowedUsedAndSpent) {
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_allowed_ratio 0.01\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_used_ratio 0\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_spent_seconds_total 0\n"));
  // The bucket holds a tenth of a day's 864 s.
  const absl::Duration reserved = budget_->Begin("b");
  budget_->End("b", reserved, absl::Seconds(21.6));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_used_ratio 0.25\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_spent_seconds_total 21.6\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_budget_spent_seconds_total 21.6\n"))
      << "a second scrape adds nothing";
}

TEST_F(AgentMetricsTest, RecordsThatWaitAndRunsByOutcome) {
  ASSERT_TRUE(spool_->Append(RunRecord("x"), Spool::Kind::kOther).ok());
  v1::Run run;
  run.set_outcome(v1::OUTCOME_TIMEOUT);
  run.set_duration_seconds(1.5);
  counters_->CountRun(run);
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_spool_records 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_runs_total{outcome=\"timeout\"} 1\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_run_seconds_total 1.5\n"));
  EXPECT_THAT(Scrape(), HasSubstr("fleetmark_agent_connected 0\n"));
}

}  // namespace
}  // namespace fleetmark::agent
