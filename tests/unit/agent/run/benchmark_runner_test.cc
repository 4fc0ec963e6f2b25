// What stands between a run that is due and its plugin: gate, lease, budget. The plugin is a script of the
// test.
#include "agent/run/benchmark_runner.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/fake_runner.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

class FixedSource final : public GateSource {
 public:
  explicit FixedSource(const GateAnswer& answer) : answer_(answer) {}
  std::string_view name() const override { return "slurm"; }
  GateAnswer BeforeRun(const GateQuery&) override { return answer_; }
  GateAnswer DuringRun(const GateQuery&, pid_t) override { return GateAnswer::Free(); }

 private:
  const GateAnswer& answer_;
};

class BenchmarkRunnerTest : public ::testing::Test {
 protected:
  BenchmarkRunnerTest()
      : leases_([this](v1::AgentMessage message) { return Take(std::move(message)); }, clock_),
        conditions_(AroundRuns(), clock_) {
    Spool::Options spool;
    spool.folder = folder_.path() + "/spool";
    spool_ = *Spool::Open(spool, clock_);
    std::vector<std::unique_ptr<GateSource>> sources;
    sources.push_back(std::make_unique<FixedSource>(gate_says_));
    gate_ = std::make_unique<Gate>(Gate::Options{}, std::move(sources), clock_);
    runner_.out = R"({"type":"done"})";
  }

  ConditionsProbe::Options AroundRuns() {
    ConditionsProbe::Options options;
    options.root = folder_.path();
    options.gpus = [this]() -> absl::StatusOr<std::vector<GpuState>> {
      clock_.Advance(driver_takes_);
      return std::vector<GpuState>{};
    };
    return options;
  }

  // The collector: every lease is granted for two minutes.
  bool Take(v1::AgentMessage message) {
    if (message.has_lease_release()) ++released_;
    if (!message.has_lease_request()) return true;
    v1::Lease lease;
    lease.set_request_id(message.lease_request().request_id());
    lease.set_granted(true);
    lease.set_expires_seconds(120);
    leases_.OnLease(lease);
    return true;
  }

  std::variant<v1::Run, BenchmarkRunner::NotNow> Execute(bool needs_lease) {
    BenchmarkRunner::Job job;
    job.spec.benchmark = "b";
    job.spec.run_id = "01J00000000000000000000000";
    job.spec.timeout = absl::Minutes(1);
    job.spec.work_root = folder_.path();
    job.spec.plugin.manifest.name = "p";
    job.spec.plugin.program = "/bin/true";
    job.spec.plugin.manifest.command = {"./true"};
    job.spec.plugin.folder = folder_.path();
    job.query.uses_gpu = true;
    job.query.gpus.push_back({.name = "gpu0"});
    job.needs_lease = needs_lease;
    job.reserved = budget_.Begin("b");
    BenchmarkRunner runner({}, {runner_, *gate_, budget_, *spool_, leases_, conditions_, clock_});
    CancelToken cancel;
    return runner.Execute(std::move(job), cancel, [](double, std::string_view) {});
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  FakeRunner runner_;
  GateAnswer gate_says_;
  absl::Duration driver_takes_;
  int released_ = 0;
  LeaseClient leases_;
  const ConditionsProbe conditions_;
  Budget budget_{Budget::Options{.share = 0.01}, clock_};
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Gate> gate_;
};

TEST_F(BenchmarkRunnerTest, AFreeNodeRunsAndGivesItsLeaseBack) {
  const auto result = Execute(true);
  ASSERT_TRUE(std::holds_alternative<v1::Run>(result));
  EXPECT_EQ(std::get<v1::Run>(result).outcome(), v1::OUTCOME_OK) << std::get<v1::Run>(result).reason();
  EXPECT_EQ(runner_.runs, 1);
  EXPECT_EQ(released_, 1);
  EXPECT_EQ(spool_->StartedRuns()->size(), 1u) << "until its record is appended";
}

TEST_F(BenchmarkRunnerTest, ABusyNodePutsItOffAndCostsNothing) {
  gate_says_ = GateAnswer::Busy("job 1 runs here");
  const auto result = Execute(true);
  ASSERT_TRUE(std::holds_alternative<BenchmarkRunner::NotNow>(result));
  EXPECT_EQ(std::get<BenchmarkRunner::NotNow>(result).why, "slurm: job 1 runs here");
  EXPECT_EQ(std::get<BenchmarkRunner::NotNow>(result).cause, "slurm");
  EXPECT_EQ(runner_.runs, 0);
  EXPECT_EQ(budget_.used(), 0);
  EXPECT_TRUE(spool_->StartedRuns()->empty());
}

TEST_F(BenchmarkRunnerTest, ALeaseThatRunsOutBeforeTheRunCouldEndStartsNothing) {
  // Of two minutes a run of one minute may begin within the first three quarters of one.
  driver_takes_ = absl::Seconds(50);
  const auto result = Execute(true);
  ASSERT_TRUE(std::holds_alternative<BenchmarkRunner::NotNow>(result));
  EXPECT_THAT(std::get<BenchmarkRunner::NotNow>(result).why, HasSubstr("lease"));
  EXPECT_EQ(std::get<BenchmarkRunner::NotNow>(result).cause, BenchmarkRunner::kLease);
  EXPECT_EQ(runner_.runs, 0);
  EXPECT_EQ(released_, 1) << "others may have it";
  EXPECT_EQ(budget_.used(), 0);
  EXPECT_TRUE(spool_->StartedRuns()->empty());
  EXPECT_TRUE(std::holds_alternative<v1::Run>(Execute(false))) << "without a lease the time is no matter";
}

}  // namespace
}  // namespace fleetmark::agent
