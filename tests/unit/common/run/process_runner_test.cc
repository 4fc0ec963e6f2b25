#include "common/run/process_runner.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <future>
#include <thread>

#include "gmock/gmock.h"

#include "tests/unit/common/run/run_fixture.h"

namespace fleetmark {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ProcessRunnerTest : public RunFixture {};

TEST_F(ProcessRunnerTest, GivesLinesAndExitStatus) {
  const auto outcome = Run(Evil("good"));
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->end, RunEnd::kExited);
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_FALSE(outcome->leftovers_killed);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("12.5"), HasSubstr("done")));
  EXPECT_GT(outcome->usage.max_rss_bytes, 0);
}

TEST_F(ProcessRunnerTest, TellsExitStatusFromSignal) {
  auto outcome = Run(Evil("exit", "77"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kExited);
  EXPECT_EQ(outcome->exit_status, 77);
  for (int signal : {SIGSEGV, SIGKILL, SIGABRT, SIGPIPE}) {
    outcome = Run(Evil("signal", std::to_string(signal)));
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->end, RunEnd::kSignaled);
    EXPECT_EQ(outcome->signal, signal);
  }
}

TEST_F(ProcessRunnerTest, PassesAllOfALargeInput) {
  RunSpec spec = Evil("echo");
  std::string sent;
  for (int i = 0; i < 5000; ++i) sent += "line " + std::to_string(i) + " of a long input\n";
  spec.stdin_text = sent;
  ASSERT_TRUE(Run(spec).ok());
  std::string received;
  for (const std::string& line : lines_) received += line + "\n";
  EXPECT_EQ(received, sent);
}

TEST_F(ProcessRunnerTest, InputNobodyReadsHoldsNobodyUp) {
  RunSpec spec = Evil("good");
  spec.stdin_text = std::string(4 << 20, 'x');
  const auto outcome = Run(spec);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kExited);
}

TEST_F(ProcessRunnerTest, StartsWithCleanEnvironmentAndNoForeignDescriptors) {
  RunSpec spec = Evil("environment");
  spec.environment["ONLY"] = "this";
  ASSERT_TRUE(Run(spec).ok());
  EXPECT_THAT(lines_, Contains("ONLY=this"));
  EXPECT_THAT(lines_, Contains("cwd " + std::filesystem::canonical(folder_).string()));
  EXPECT_THAT(lines_, Contains("session leader 1"));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("open descriptor"))));
  const auto foreign = std::count_if(lines_.begin(), lines_.end(), [](const std::string& line) {
    return line.find('=') != std::string::npos && line != "ONLY=this" && line.rfind("PATH=", 0) != 0;
  });
  EXPECT_EQ(foreign, 0);
}

TEST_F(ProcessRunnerTest, HangEndsAtTheTimeLimit) {
  for (const char* mode : {"hang", "hang_term", "close", "daemon_hang"}) {
    RunSpec spec = Evil(mode);
    spec.timeout = absl::Milliseconds(300);
    const auto outcome = Run(spec);
    ASSERT_TRUE(outcome.ok()) << mode;
    EXPECT_EQ(outcome->end, RunEnd::kTimedOut) << mode;
    EXPECT_LT(outcome->elapsed, absl::Seconds(10)) << mode;
    EXPECT_TRUE(ProcessesWith(marker_).empty()) << mode;
  }
}

TEST_F(ProcessRunnerTest, ProgramMayCleanUpWithinTheGrace) {
  RunSpec spec = Evil("term");
  spec.term_grace = absl::Seconds(30);
  cancel_at_ = "ready";
  const auto outcome = Run(spec);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kCancelled);
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_THAT(lines_, Contains(HasSubstr("cleaning up")));
  EXPECT_LT(outcome->elapsed, absl::Seconds(20));
}

TEST_F(ProcessRunnerTest, CancelFromAnotherThread) {
  std::promise<void> ready;
  std::thread canceller([&] {
    ready.get_future().wait();
    cancel_.Cancel("first");
    cancel_.Cancel("second");
  });
  const auto outcome = runner_.Run(
      Evil("daemon_hang"),
      [&](std::string_view) {
        ready.set_value();
        return true;
      },
      [](std::string_view) {}, cancel_);
  canceller.join();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kCancelled);
  EXPECT_EQ(cancel_.reason(), "first");
}

TEST_F(ProcessRunnerTest, CancelledBeforeItStartsRunsNothing) {
  cancel_.Cancel("too late");
  const auto outcome = Run(Evil("good"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kCancelled);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ProcessRunnerTest, DaemonThatHoldsStdoutIsKilledWhenTheProgramEnds) {
  const auto outcome = Run(Evil("daemon"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kExited);
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_TRUE(outcome->leftovers_killed);
  EXPECT_LT(outcome->elapsed, absl::Seconds(10));
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(ProcessRunnerTest, ForkingFamilyIsKilled) {
  cancel_at_ = "ready";
  const auto outcome = Run(Evil("forks"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kCancelled);
  EXPECT_EQ(outcome->unkillable, 0);
}

TEST_F(ProcessRunnerTest, OutputIsBounded) {
  RunSpec spec = Evil("flood");
  spec.limits.total_bytes = 100'000;
  auto outcome = Run(spec);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kOutputTooLong);
  EXPECT_LE(lines_.size(), 100u);

  lines_.clear();
  outcome = Run(Evil("many_lines"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kOutputTooLong);
  EXPECT_EQ(lines_.size(), 20'000u);

  lines_.clear();
  outcome = Run(Evil("endless_line"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kLineTooLong);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ProcessRunnerTest, ReaderMayRefuse) {
  refuse_at_ = "ready";
  const auto outcome = Run(Evil("daemon_hang"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kRefused);
}

TEST_F(ProcessRunnerTest, ProgramThatSignalsItsGroupDoesNotHitTheReaper) {
  const auto outcome = Run(Evil("signal_group"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kSignaled);
  EXPECT_EQ(outcome->signal, SIGTERM);
}

TEST_F(ProcessRunnerTest, ProgramThatKillsItsReaperDiesToo) {
  RunSpec spec = Evil("kill_reaper");
  spec.environment["FLEETMARK_RUN_ID"] = marker_;
  spec.mark = "FLEETMARK_RUN_ID=" + marker_;
  const auto outcome = Run(spec);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, RunEnd::kReaperLost);
}

TEST_F(ProcessRunnerTest, KilledAgentLeavesNothing) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const std::string launcher = LauncherPath();
  const pid_t driver = fork();
  ASSERT_GE(driver, 0);
  if (driver == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    execl(FM_RUN_DRIVER, FM_RUN_DRIVER, launcher.c_str(), FM_EVIL_PLUGIN, "daemon_hang", "", marker_.c_str(),
          nullptr);
    _exit(127);
  }
  close(pipe_fds[1]);
  char ready[6] = {};
  ASSERT_EQ(read(pipe_fds[0], ready, 5), 5);
  close(pipe_fds[0]);
  EXPECT_GE(ProcessesWith(marker_).size(), 5u);  // driver, launcher, program, three daemons
  kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);
  for (int i = 0; i < 500 && !ProcessesWith(marker_).empty(); ++i) usleep(10'000);
  EXPECT_TRUE(ProcessesWith(marker_).empty());
}

TEST_F(ProcessRunnerTest, SaysWhyNothingWasStarted) {
  RunSpec spec = Evil("good");
  spec.command = {"/nowhere/program"};
  EXPECT_THAT(std::string(Run(spec).status().message()), HasSubstr("/nowhere/program: can't execute it"));
  spec = Evil("good");
  spec.work_dir = "/nowhere";
  EXPECT_THAT(std::string(Run(spec).status().message()), HasSubstr("can't enter its working folder"));
  spec = Evil("good");
  spec.cpus = {100'000};
  EXPECT_THAT(std::string(Run(spec).status().message()), HasSubstr("can't set its CPUs"));
  spec.command = {};
  EXPECT_EQ(Run(spec).status().code(), absl::StatusCode::kInvalidArgument);
  ProcessRunner without({"/nowhere/launcher"}, RealClock());
  const auto outcome = without.Run(
      Evil("good"), [](std::string_view) { return true; }, [](std::string_view) {}, cancel_);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ProcessRunnerTest, KeepsNoDescriptorsOrChildren) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  ASSERT_TRUE(Run(Evil("good")).ok());
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Run(Evil("good")).ok());
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ProcessRunnerTest, RunsAsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  RunSpec spec = Evil("good");
  spec.command = {"/usr/bin/id", "-u", "-n"};
  spec.work_dir = "/";
  spec.user = RunUser{65534, 65534};
  ASSERT_TRUE(Run(spec).ok());
  EXPECT_THAT(lines_, ElementsAre("nobody"));
}

TEST_F(ProcessRunnerTest, RunsAtOnceDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        CancelToken cancel;
        const auto outcome = runner_.Run(
            Evil("exit", std::to_string(10 + t)), [](std::string_view) { return true; },
            [](std::string_view) {}, cancel);
        if (outcome.ok() && outcome->exit_status == 10 + t) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 20);
}

}  // namespace
}  // namespace fleetmark
