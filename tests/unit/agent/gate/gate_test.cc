#include "agent/gate/gate.h"

#include <thread>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

// Answers what the test sets.
class FakeSource final : public GateSource {
 public:
  explicit FakeSource(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  GateAnswer BeforeRun(const GateQuery&) override {
    MutexLock lock(mu_);
    ++asked_before_;
    return answer_;
  }
  GateAnswer DuringRun(const GateQuery&, pid_t run) override {
    MutexLock lock(mu_);
    ++asked_during_;
    run_ = run;
    return answer_;
  }
  void Set(GateAnswer answer) {
    MutexLock lock(mu_);
    answer_ = std::move(answer);
  }
  int asked_before() {
    MutexLock lock(mu_);
    return asked_before_;
  }
  int asked_during() {
    MutexLock lock(mu_);
    return asked_during_;
  }
  pid_t run() {
    MutexLock lock(mu_);
    return run_;
  }

 private:
  const std::string name_;
  Mutex mu_;
  GateAnswer answer_ ABSL_GUARDED_BY(mu_);
  int asked_before_ ABSL_GUARDED_BY(mu_) = 0;
  int asked_during_ ABSL_GUARDED_BY(mu_) = 0;
  pid_t run_ ABSL_GUARDED_BY(mu_) = 0;
};

class GateTest : public ::testing::Test {
 protected:
  void Make(absl::Duration cool_down = absl::ZeroDuration()) {
    std::vector<std::unique_ptr<GateSource>> sources;
    auto one = std::make_unique<FakeSource>("slurm");
    auto two = std::make_unique<FakeSource>("pressure");
    slurm_ = one.get();
    pressure_ = two.get();
    sources.push_back(std::move(one));
    sources.push_back(std::move(two));
    Gate::Options options;
    options.cool_down = cool_down;
    gate_ = std::make_unique<Gate>(options, std::move(sources), clock_);
  }

  // Lets the watching thread look once more.
  void LookAgain() {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Milliseconds(200));
    clock_.AwaitWaiters(1);
  }

  FakeClock clock_;
  FakeSource* slurm_ = nullptr;
  FakeSource* pressure_ = nullptr;
  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, TheFirstThatIsNotFreeDecides) {
  Make();
  EXPECT_TRUE(gate_->BeforeRun({}).free());
  slurm_->Set(GateAnswer::Busy("job 12 runs here"));
  const GateAnswer answer = gate_->BeforeRun({});
  EXPECT_EQ(answer.state, GateAnswer::State::kBusy);
  EXPECT_EQ(answer.reason, "slurm: job 12 runs here");
  EXPECT_EQ(pressure_->asked_before(), 1);
  slurm_->Set(GateAnswer::Free());
  pressure_->Set(GateAnswer::Unknown("no /proc/stat"));
  EXPECT_FALSE(gate_->BeforeRun({}).free());
}

TEST_F(GateTest, UserWorkEndsARun) {
  Make();
  CancelToken cancel;
  Gate::Watch watch(*gate_, {}, cancel);
  watch.Began(77);
  LookAgain();
  EXPECT_FALSE(cancel.cancelled());
  EXPECT_EQ(slurm_->run(), 77);
  pressure_->Set(GateAnswer::Busy("3 cores are used by others"));
  LookAgain();
  LookAgain();
  EXPECT_TRUE(cancel.cancelled());
  EXPECT_EQ(cancel.cause(), CancelCause::kGate);
  EXPECT_EQ(cancel.reason(), "pressure: 3 cores are used by others");
  EXPECT_EQ(gate_->source_states()[0].runs_ended, 0u);
  EXPECT_EQ(gate_->source_states()[1].runs_ended, 1u);
}

TEST_F(GateTest, TellsWhatEachSourceSaidLastAndWhichDecided) {
  Make();
  EXPECT_EQ(gate_->source_states()[0].name, "slurm");
  EXPECT_EQ(gate_->source_states()[0].last, std::nullopt);
  slurm_->Set(GateAnswer::Unknown("slurmctld is away"));
  EXPECT_EQ(gate_->BeforeRun({}).by, "slurm");
  EXPECT_EQ(gate_->source_states()[0].last, GateAnswer::State::kUnknown);
  EXPECT_EQ(gate_->source_states()[1].last, std::nullopt);
  slurm_->Set(GateAnswer::Free());
  pressure_->Set(GateAnswer::Busy("load 3"));
  EXPECT_EQ(gate_->BeforeRun({}).by, "pressure");
  EXPECT_EQ(gate_->source_states()[0].last, GateAnswer::State::kFree);
  EXPECT_EQ(gate_->source_states()[1].last, GateAnswer::State::kBusy);
}

TEST_F(GateTest, NotKnowingIsBorneForAWhile) {
  Make();
  CancelToken cancel;
  Gate::Watch watch(*gate_, {}, cancel);
  watch.Began(77);
  slurm_->Set(GateAnswer::Unknown("the spool folder can't be read"));
  for (int i = 0; i < 10; ++i) LookAgain();
  EXPECT_FALSE(cancel.cancelled());
  slurm_->Set(GateAnswer::Free());
  LookAgain();
  LookAgain();
  slurm_->Set(GateAnswer::Unknown("the spool folder can't be read"));
  for (int i = 0; i < 10; ++i) LookAgain();
  EXPECT_FALSE(cancel.cancelled()) << "the patience begins anew";
  for (int i = 0; i < 30; ++i) LookAgain();
  EXPECT_TRUE(cancel.cancelled());
}

TEST_F(GateTest, ARunThatHasNotBegunIsNotLookedAt) {
  Make();
  CancelToken cancel;
  slurm_->Set(GateAnswer::Busy("job 12 runs here"));
  {
    Gate::Watch watch(*gate_, {}, cancel);
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(1));
    clock_.AwaitWaiters(1);
  }
  EXPECT_FALSE(cancel.cancelled());
  EXPECT_EQ(slurm_->asked_during(), 0);
}

TEST_F(GateTest, CoolsDownAfterARun) {
  Make(absl::Seconds(10));
  EXPECT_TRUE(gate_->BeforeRun({}).free());
  {
    CancelToken cancel;
    const Gate::Watch watch(*gate_, {}, cancel);
  }
  clock_.Advance(absl::Seconds(4));
  const GateAnswer answer = gate_->BeforeRun({});
  EXPECT_FALSE(answer.free());
  EXPECT_EQ(answer.retry_after, absl::Seconds(6));
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(gate_->BeforeRun({}).free());
}

}  // namespace
}  // namespace fleetmark::agent
