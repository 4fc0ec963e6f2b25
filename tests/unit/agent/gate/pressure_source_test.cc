#include "agent/gate/pressure_source.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

constexpr int kAgent = 10;
constexpr int kRun = 11;

// A machine of two CPUs in which the agent, its run and others spend time.
class PressureSourceTest : public testing::Test {
 protected:
  PressureSourceTest() { Write(); }

  void Write() {
    const int busy = own_ + reaped_ + foreign_;
    files_.Write("/proc/stat", "cpu  " + std::to_string(busy) + " 0 " + std::to_string(kernel_) + " " +
                                   std::to_string(total_ - busy - kernel_) + " 0 0 0 0 0 0\ncpu0 1\n");
    WriteProcess(files_, kAgent, 1, "fleetmark-agent", 0, 0, "11 ");
    WriteProcess(files_, kRun, kAgent, "fleetmark (launch)", 0, reaped_, alive_ ? "12 " : "");
    if (alive_) {
      WriteProcess(files_, 12, kRun, "gemm", own_);
    } else {
      files_.Remove("/proc/12");
    }
  }

  // `milliseconds` in which the run used `own` ticks and others `foreign`.
  void Pass(int milliseconds, int own, int foreign) {
    total_ += milliseconds / 10 * 2;
    own_ += own;
    foreign_ += foreign;
    Write();
    clock_.Advance(absl::Milliseconds(milliseconds));
  }

  PressureSource Source(PressureSource::Options options = {}) {
    options.root = files_.root();
    options.self = kAgent;
    return PressureSource(options, clock_);
  }

  // BeforeRun, while in its window others use `foreign` of the 40 ticks.
  GateAnswer Before(PressureSource& source, int foreign, const GateQuery& query = {}) {
    GateAnswer answer;
    std::thread asks([&] { answer = source.BeforeRun(query); });
    clock_.AwaitWaiters(1);
    Pass(200, 0, foreign);
    asks.join();
    return answer;
  }

  Files files_;
  FakeClock clock_;
  int total_ = 100000, own_ = 100, reaped_ = 0, foreign_ = 5000, kernel_ = 1000;
  bool alive_ = true;
};

TEST_F(PressureSourceTest, AnIdleMachineIsFree) {
  PressureSource source = Source();
  EXPECT_TRUE(Before(source, 2).free());
}

TEST_F(PressureSourceTest, ABusyMachineIsBusy) {
  PressureSource source = Source();
  const GateAnswer answer = Before(source, 20);
  EXPECT_EQ(answer.state, GateAnswer::State::kBusy);
  EXPECT_EQ(answer.reason, "other processes use 50 % of the CPUs (limit 10 %)");
}

TEST_F(PressureSourceTest, PressureIsAskedFirst) {
  files_.Write("/proc/pressure/memory", "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n");
  PressureSource source = Source();
  EXPECT_EQ(source.BeforeRun({}).reason, "processes wait for memory 12 % of the time (limit 10 %)");
  // What a run of ours caused a moment ago is not held against the next.
  source.DuringRun({}, kRun);
  EXPECT_TRUE(Before(source, 0).free());
  clock_.Advance(absl::Seconds(25));
  EXPECT_FALSE(source.BeforeRun({}).free());
}

TEST_F(PressureSourceTest, OnlyExclusiveRunsMayBeAsked) {
  PressureSource source = Source({.exclusive_only = true});
  EXPECT_TRUE(source.BeforeRun({}).free());
  GateQuery exclusive;
  exclusive.cpu_exclusive = true;
  EXPECT_FALSE(Before(source, 20, exclusive).free());
}

TEST_F(PressureSourceTest, ARunsOwnUseIsNotForeign) {
  PressureSource source = Source();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(source.DuringRun({}, kRun).free());
    Pass(200, 38, 1);
  }
}

TEST_F(PressureSourceTest, ForeignUseStopsARunWhenItLasts) {
  PressureSource source = Source();
  EXPECT_TRUE(source.DuringRun({}, kRun).free());
  Pass(200, 20, 20);
  EXPECT_TRUE(source.DuringRun({}, kRun).free()) << "200 ms may be a passing thing";
  Pass(200, 20, 20);
  EXPECT_EQ(source.DuringRun({}, kRun).state, GateAnswer::State::kBusy);
  Pass(200, 38, 0);
  EXPECT_TRUE(source.DuringRun({}, kRun).free());
}

TEST_F(PressureSourceTest, TheTimeOfAChildThatEndedIsStillTheRuns) {
  PressureSource source = Source();
  source.DuringRun({}, kRun);
  for (int i = 0; i < 3; ++i) {
    // It ran, ended, and was waited for within the interval.
    own_ += 40;
    total_ += 40;
    alive_ = false;
    reaped_ += own_;
    own_ = 0;
    Write();
    clock_.Advance(absl::Milliseconds(200));
    EXPECT_TRUE(source.DuringRun({}, kRun).free());
    alive_ = true;
  }
}

TEST_F(PressureSourceTest, TimeThatNobodyWaitedForIsNotChargedToOthers) {
  PressureSource source = Source({.lasting = absl::ZeroDuration()});
  own_ = 4000;
  Write();
  source.DuringRun({}, kRun);
  // A process of the run ends and takes its time with it.
  foreign_ += std::exchange(own_, 0);
  alive_ = false;
  Pass(200, 0, 38);
  EXPECT_TRUE(source.DuringRun({}, kRun).free());
  Pass(200, 0, 38);
  EXPECT_FALSE(source.DuringRun({}, kRun).free());
}

TEST_F(PressureSourceTest, TheKernelsThreadsCountForExclusiveRunsOnly) {
  GateQuery exclusive;
  exclusive.cpu_exclusive = true;
  PressureSource source = Source();
  GateAnswer shared_answer, exclusive_answer;
  for (int i = 0; i < 4; ++i) {
    shared_answer = source.DuringRun({}, kRun);
    kernel_ += 20;
    Pass(200, 10, 0);
  }
  PressureSource other = Source();
  for (int i = 0; i < 4; ++i) {
    exclusive_answer = other.DuringRun(exclusive, kRun);
    kernel_ += 20;
    Pass(200, 10, 0);
  }
  EXPECT_TRUE(shared_answer.free());
  EXPECT_FALSE(exclusive_answer.free());
}

TEST_F(PressureSourceTest, WithoutTheListOfChildrenParentsTell) {
  for (const char* pid : {"10", "11", "12"}) {
    files_.Remove(std::string("/proc/") + pid + "/task/" + pid + "/children");
  }
  const ProcReader proc(files_.root());
  EXPECT_EQ(proc.Tree({kAgent}), (std::set<pid_t>{10, 11, 12}));
  EXPECT_EQ(proc.Children(kRun), (std::vector<pid_t>{12}));
}

// Whatever else the machine does: all that a tree of short processes used is found again as ours.
TEST(CpuMeter, WhatTheRealKernelSaysOfProcessesThatEnded) {
  const ProcReader proc;
  const CpuMeter meter(proc);
  rusage self_before{}, self_after{}, children_before{}, children_after{};
  const std::optional<CpuSample> before = meter.Take({getpid()});
  getrusage(RUSAGE_SELF, &self_before);
  getrusage(RUSAGE_CHILDREN, &children_before);
  std::string script =
      "n=0; while [ $n -lt 20 ]; do n=$((n+1)); "
      "(sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'); done";
  std::string program = "sh", option = "-c";
  char* argv[] = {program.data(), option.data(), script.data(), nullptr};
  pid_t pid = 0;
  ASSERT_EQ(posix_spawnp(&pid, "sh", nullptr, nullptr, argv, environ), 0);
  EXPECT_GE(meter.Take({getpid()}, &*before)->own.count(pid), 1u);
  waitpid(pid, nullptr, 0);
  getrusage(RUSAGE_SELF, &self_after);
  getrusage(RUSAGE_CHILDREN, &children_after);
  const std::optional<CpuSample> after = meter.Take({getpid()}, &*before);
  const auto ticks = [](const rusage& usage) {
    const absl::Duration used =
        absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
    return absl::ToDoubleSeconds(used) * static_cast<double>(sysconf(_SC_CLK_TCK));
  };
  const double used = ticks(self_after) - ticks(self_before) + ticks(children_after) - ticks(children_before);
  const auto found =
      static_cast<double>(after->own_user + after->own_system - before->own_user - before->own_system);
  EXPECT_GT(used, 10);
  EXPECT_NEAR(found, used, 0.05 * used + 5);
}

TEST(PressureSource, TheRealMachineAnswers) {
  PressureSource source({}, RealClock());
  EXPECT_NE(source.BeforeRun({}).state, GateAnswer::State::kUnknown);
  EXPECT_NE(source.DuringRun({}, getpid()).state, GateAnswer::State::kUnknown);
}

}  // namespace
}  // namespace fleetmark::agent
