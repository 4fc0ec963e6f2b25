#include "agent/gate/slurm_controller.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/fake_runner.h"

namespace fleetmark::agent {
namespace {

class SlurmControllerTest : public testing::Test {
 protected:
  void Fail(const std::string& err) {
    runner_.out = "";
    runner_.err = err;
    runner_.outcome.exit_status = 1;
  }

  FakeClock clock_;
  FakeRunner runner_;
  SlurmController controller_{{.node = "n1", .slurm_conf = "/x/slurm.conf"}, runner_, clock_};
};

TEST_F(SlurmControllerTest, AsksOnceForBenchmarksThatStartTogether) {
  EXPECT_EQ(controller_.NodeState().state, "IDLE");
  EXPECT_EQ(controller_.NodeState().state, "IDLE");
  EXPECT_EQ(controller_.queries(), 1u);
  EXPECT_EQ(runner_.last.command, (std::vector<std::string>{"scontrol", "show", "node", "-o", "n1"}));
  EXPECT_EQ(runner_.last.environment.at("SLURM_CONF"), "/x/slurm.conf");
  clock_.Advance(absl::Seconds(6));
  runner_.out = "NodeName=n1 State=MIXED+DRAIN";
  EXPECT_EQ(controller_.NodeState().state, "MIXED+DRAIN");
  EXPECT_EQ(controller_.queries(), 2u);
}

TEST_F(SlurmControllerTest, AControllerThatIsGoneIsAskedEverMoreRarely) {
  Fail("slurm_load_node error: Unable to contact slurm controller (connect failure)");
  // An hour in which somebody asks each second.
  for (int i = 0; i < 3600; ++i) {
    const SlurmController::Answer answer = controller_.NodeState();
    EXPECT_FALSE(answer.status.ok());
    EXPECT_GT(answer.retry_after, absl::ZeroDuration());
    EXPECT_LE(answer.retry_after, absl::Minutes(5));
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_GT(controller_.queries(), 10u);
  EXPECT_LT(controller_.queries(), 45u);
  EXPECT_EQ(controller_.NodeState().status.message(),
            "slurmctld can't be asked: slurm_load_node error: Unable to contact slurm controller (connect "
            "failure) (scontrol ended with 1)");
  runner_ = FakeRunner();
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(controller_.NodeState().state, "IDLE");
}

TEST_F(SlurmControllerTest, ThreadsShareAQuestion) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] { EXPECT_EQ(controller_.NodeState().state, "IDLE"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(controller_.queries(), 1u);
}

TEST_F(SlurmControllerTest, ASlowControllerIsUnknown) {
  runner_.out = "";
  runner_.outcome.end = RunEnd::kTimedOut;
  EXPECT_EQ(controller_.NodeState().status.message(), "slurmctld did not answer within 5s");
}

TEST_F(SlurmControllerTest, AnAnswerWithoutAStateIsAFailure) {
  runner_.out = "Node n1 not found";
  EXPECT_FALSE(controller_.NodeState().status.ok());
  EXPECT_FALSE(StateOfNodeLine("NodeName=n1 State= X=1").ok());
}

}  // namespace
}  // namespace fleetmark::agent
