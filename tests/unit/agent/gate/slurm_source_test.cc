#include "agent/gate/slurm_source.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

// In scontrol's place.
class FakeController final : public Runner {
 public:
  absl::StatusOr<RunOutcome> Run(const RunSpec& spec, absl::FunctionRef<bool(std::string_view)> on_line,
                                 absl::FunctionRef<void(std::string_view)> on_log, CancelToken&) override {
    command = spec.command;
    RunOutcome outcome;
    if (hangs) {
      outcome.end = RunEnd::kTimedOut;
    } else if (!error.empty()) {
      on_log(error);
      outcome.exit_status = 1;
    } else {
      on_line("NodeName=n1 Arch=x86_64 State=" + state + " ThreadsPerCore=1");
    }
    return outcome;
  }

  std::string state = "IDLE";
  std::string error;
  bool hangs = false;
  std::vector<std::string> command;
};

class SlurmSourceTest : public ::testing::Test {
 protected:
  SlurmSourceTest() {
    char name[] = "/tmp/fleetmark_slurm_XXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::create_directories(folder_ + "/spool");
    std::filesystem::create_directories(folder_ + "/proc");
    SlurmSource::Options options;
    options.node = "n1";
    options.spool_dir = folder_ + "/spool";
    options.proc = folder_ + "/proc";
    source_ = std::make_unique<SlurmSource>(options, controller_, clock_);
  }
  ~SlurmSourceTest() override { RemoveTree(folder_).IgnoreError(); }

  // A step's socket; somebody listens there while the returned descriptor is open.
  UniqueFd Step(const std::string& name) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ + "/spool/" + name).copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 4), 0);
    return fd;
  }

  void Process(const std::string& pid, const std::string& comm, const std::string& children,
               const std::string& environment) {
    const std::string folder = folder_ + "/proc/" + pid;
    std::filesystem::create_directories(folder + "/task/" + pid);
    std::ofstream(folder + "/comm") << comm << "\n";
    std::ofstream(folder + "/task/" + pid + "/children") << children;
    std::ofstream(folder + "/environ") << environment;
  }

  FakeClock clock_;
  FakeController controller_;
  std::string folder_;
  std::unique_ptr<SlurmSource> source_;
};

TEST_F(SlurmSourceTest, AsksTheControllerWhenNothingIsHere) {
  EXPECT_TRUE(source_->BeforeRun({}).free());
  EXPECT_EQ(controller_.command, (std::vector<std::string>{"scontrol", "show", "node", "-o", "n1"}));
  EXPECT_EQ(source_->queries(), 1u);
  controller_.state = "MIXED";
  EXPECT_TRUE(source_->BeforeRun({}).free()) << "one answer serves runs that start together";
  EXPECT_EQ(source_->queries(), 1u);
  clock_.Advance(absl::Seconds(6));
  EXPECT_EQ(source_->BeforeRun({}).reason, "the node is MIXED: jobs run here");
}

TEST_F(SlurmSourceTest, AStepThatRunsIsSeenWithoutTheController) {
  {
    const UniqueFd step = Step("n1_42.0");
    EXPECT_EQ(source_->BeforeRun({}).reason, "job 42 runs here");
    EXPECT_EQ(source_->DuringRun({}, 1).state, GateAnswer::State::kBusy);
    EXPECT_EQ(source_->queries(), 0u);
  }
  EXPECT_TRUE(source_->DuringRun({}, 1).free()) << "a socket that was left behind";
}

TEST_F(SlurmSourceTest, OtherNodesAndOtherFilesDoNotCount) {
  const UniqueFd other = Step("n10_42.0");
  const UniqueFd odd = Step("n1_cred.state");
  std::ofstream(folder_ + "/spool/cred_state") << "x";
  EXPECT_TRUE(source_->DuringRun({}, 1).free());
}

TEST_F(SlurmSourceTest, AFolderThatCannotBeReadIsUnknown) {
  std::filesystem::remove_all(folder_ + "/spool");
  EXPECT_EQ(source_->DuringRun({}, 1).state, GateAnswer::State::kUnknown);
  EXPECT_EQ(source_->BeforeRun({}).state, GateAnswer::State::kUnknown);
}

TEST_F(SlurmSourceTest, PrologAndEpilog) {
  using std::string_literals::operator""s;
  Process("100", "slurmd", "200 201", "");
  Process("200", "health.sh", "", "SLURMD_NODENAME=n1\0"s);
  Process("201", "prolog.sh", "", "SLURMD_NODENAME=n2\0SLURM_SCRIPT_CONTEXT=prolog_slurmd\0"s);
  EXPECT_TRUE(source_->DuringRun({}, 1).free()) << "another virtual node's prolog, and a health check";
  Process("201", "prolog.sh", "", "SLURMD_NODENAME=n1\0SLURM_SCRIPT_CONTEXT=prolog_slurmd\0"s);
  EXPECT_EQ(source_->DuringRun({}, 1).reason, "a job's prolog runs here");
  Process("201", "epilog.sh", "", "SLURMD_NODENAME=n1\0SLURM_SCRIPT_CONTEXT=epilog_slurmd\0"s);
  EXPECT_EQ(source_->DuringRun({}, 1).reason, "a job's epilog runs here");
  GateQuery own;
  own.trigger = v1::TRIGGER_EPILOG;
  EXPECT_TRUE(source_->DuringRun(own, 1).free());
}

TEST_F(SlurmSourceTest, AControllerThatIsDownIsLeftAlone) {
  controller_.error = "slurm_load_node error: Unable to contact slurm controller (connect failure)";
  for (int i = 0; i < 3600; ++i) {
    const GateAnswer answer = source_->BeforeRun({});
    EXPECT_EQ(answer.state, GateAnswer::State::kUnknown);
    EXPECT_TRUE(absl::StrContains(answer.reason, "Unable to contact slurm controller")) << answer.reason;
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_LT(source_->queries(), 60u) << "in an hour in which it was needed each second";
  controller_.error.clear();
  clock_.Advance(absl::Minutes(5));
  EXPECT_TRUE(source_->BeforeRun({}).free());
}

TEST_F(SlurmSourceTest, AControllerThatDoesNotAnswer) {
  controller_.hangs = true;
  const GateAnswer answer = source_->BeforeRun({});
  EXPECT_EQ(answer.state, GateAnswer::State::kUnknown);
  EXPECT_TRUE(absl::StrContains(answer.reason, "longer than 5s")) << answer.reason;
  EXPECT_GT(answer.retry_after, absl::ZeroDuration());
}

}  // namespace
}  // namespace fleetmark::agent
