#include "agent/gate/gpu_source.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

namespace fs = std::filesystem;
using State = GateAnswer::State;

constexpr pid_t kRun = 500;

// A process table in a folder, and a probe whose answers the test gives one by one.
class GpuSourceTest : public testing::Test {
 protected:
  GpuSourceTest() {
    std::string pattern = testing::TempDir() + "fm_gate_gpu_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    AddProcess(getpid(), 1);
    AddProcess(kRun, getpid());
    AddProcess(501, kRun);
    AddProcess(502, 501);
    AddProcess(900, 1);
    query_.uses_gpu = true;
    gpus_ = {MakeGpu(0), MakeGpu(1)};
    MakeSource(absl::ZeroDuration());
  }
  ~GpuSourceTest() override {
    Block(false);
    source_.reset();
    fs::remove_all(folder_);
  }

  void MakeSource(absl::Duration interval) {
    GpuSource::Options options;
    options.proc = folder_;
    options.interval = interval;
    options.read = [this](CancelToken&) -> absl::StatusOr<std::vector<GpuState>> { return Answer(); };
    source_ = std::make_unique<GpuSource>(options, clock_);
  }

  void AddProcess(pid_t pid, pid_t parent) {
    const std::string folder = folder_ + "/" + std::to_string(pid);
    fs::create_directories(folder);
    std::ofstream(folder + "/stat") << pid << " (odd ) name) S " << parent << " 0 0\n";
  }

  static GpuState MakeGpu(int number) {
    GpuState state;
    state.gpu.name = "gpu" + std::to_string(number);
    state.gpu.pci_address = "0000:0" + std::to_string(number) + ":00.0";
    state.processes_known = true;
    state.utilization = 0;
    return state;
  }

  absl::StatusOr<std::vector<GpuState>> Answer() {
    MutexLock lock(mu_);
    ++looks_;
    changed_.NotifyAll();
    while (blocked_) changed_.Wait(mu_);
    if (!status_.ok()) return status_;
    return gpus_;
  }
  void Block(bool blocked) {
    MutexLock lock(mu_);
    blocked_ = blocked;
    changed_.NotifyAll();
  }
  void Set(std::vector<GpuProcess> on_gpu0, absl::Status status = absl::OkStatus()) {
    MutexLock lock(mu_);
    gpus_[0].processes = std::move(on_gpu0);
    status_ = std::move(status);
  }
  int looks() {
    MutexLock lock(mu_);
    return looks_;
  }
  void AwaitLook(int number) {
    MutexLock lock(mu_);
    while (looks_ < number) changed_.Wait(mu_);
  }

  // What is said once a look that began after this call has been judged.
  GateAnswer AfterNextLook(pid_t run = kRun) {
    const int before = looks();
    clock_.Advance(absl::Milliseconds(10));
    GateAnswer answer;
    while (looks() < before + 2) {
      answer = source_->DuringRun(query_, run);
      std::this_thread::yield();
    }
    return answer;
  }

  std::string folder_;
  FakeClock clock_;
  GateQuery query_;
  Mutex mu_;
  CondVar changed_;
  bool blocked_ = false;
  int looks_ = 0;
  absl::Status status_;
  std::vector<GpuState> gpus_;
  std::unique_ptr<GpuSource> source_;
};

TEST_F(GpuSourceTest, BeforeARunAForeignProcessIsBusy) {
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  Set({{900, "python3"}});
  const GateAnswer answer = source_->BeforeRun(query_);
  EXPECT_EQ(answer.state, State::kBusy);
  EXPECT_EQ(answer.reason, "process 900 (python3) computes on gpu0");
  query_.gpus = {gpus_[1].gpu};
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  query_.gpus = {Gpu{.name = "gpu0"}};
  EXPECT_FALSE(source_->BeforeRun(query_).free());
}

TEST_F(GpuSourceTest, BeforeARunTheAgentsOwnProcessIsNotForeign) {
  Set({{502, "bench"}});
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  Set({{12345, ""}});
  EXPECT_EQ(source_->BeforeRun(query_).reason, "process 12345 computes on gpu0");
}

TEST_F(GpuSourceTest, BeforeARunUseAboveTheThresholdIsBusy) {
  gpus_[1].utilization = 0.05;
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  gpus_[1].utilization = 0.37;
  EXPECT_EQ(source_->BeforeRun(query_).reason, "gpu1 is in use 37 % of the time");
}

TEST_F(GpuSourceTest, WhatCantBeToldIsUnknown) {
  Set({}, absl::DeadlineExceededError("the driver hangs"));
  EXPECT_EQ(source_->BeforeRun(query_).state, State::kUnknown);
  EXPECT_EQ(source_->BeforeRun(query_).reason, "the driver hangs");
  Set({});
  gpus_[0].processes_known = false;
  EXPECT_EQ(source_->BeforeRun(query_).state, State::kUnknown);
  gpus_[0].error = "the driver does not answer for it";
  EXPECT_EQ(source_->BeforeRun(query_).reason, "gpu0: the driver does not answer for it");
}

TEST_F(GpuSourceTest, WithoutGpusOrUseOfThemItIsFreeAndNobodyIsAsked) {
  gpus_.clear();
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  query_.uses_gpu = false;
  const int before = looks();
  EXPECT_TRUE(source_->BeforeRun(query_).free());
  EXPECT_TRUE(source_->DuringRun(query_, kRun).free());
  EXPECT_EQ(looks(), before);
}

TEST_F(GpuSourceTest, DuringARunOnlyItsDescendantsMayCompute) {
  Set({{501, "bench"}, {502, "bench"}});
  EXPECT_TRUE(AfterNextLook().free());
  Set({{502, "bench"}, {900, "python3"}});
  const GateAnswer answer = AfterNextLook();
  EXPECT_EQ(answer.state, State::kBusy);
  EXPECT_EQ(answer.reason, "process 900 (python3) computes on gpu0");
  Set({});
  EXPECT_TRUE(AfterNextLook().free());
}

TEST_F(GpuSourceTest, AProcessThatCantBeFoundIsBusyOnceItStays) {
  AfterNextLook();
  Block(true);
  const int before = looks();
  clock_.Advance(absl::Seconds(2));
  source_->DuringRun(query_, kRun);
  AwaitLook(before + 1);
  Set({{12345, ""}});
  Block(false);
  // That look judged it for the first time; the ones after have seen it before.
  EXPECT_EQ(AfterNextLook().state, State::kBusy);
}

TEST_F(GpuSourceTest, ALookFromBeforeTheRunIsNotHeldAgainstIt) {
  Set({{502, "bench"}});
  EXPECT_TRUE(AfterNextLook(kRun).free());
  clock_.Advance(absl::Milliseconds(10));
  EXPECT_TRUE(source_->DuringRun(query_, 777).free());
  EXPECT_EQ(AfterNextLook(777).state, State::kBusy);
}

TEST_F(GpuSourceTest, DuringARunItDoesNotWaitForTheProbe) {
  Block(true);
  EXPECT_TRUE(source_->DuringRun(query_, kRun).free());
  AwaitLook(1);
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_TRUE(source_->DuringRun(query_, kRun).free()) << i;
  }
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(source_->DuringRun(query_, kRun).state, State::kUnknown);
  EXPECT_EQ(looks(), 1);
}

TEST_F(GpuSourceTest, DuringARunItLooksOnceAnInterval) {
  MakeSource(absl::Seconds(1));
  source_->DuringRun(query_, kRun);
  AwaitLook(1);
  for (int i = 0; i < 1000; ++i) source_->DuringRun(query_, kRun);
  EXPECT_EQ(looks(), 1);
  while (looks() < 2) {
    clock_.Advance(absl::Seconds(1));
    source_->DuringRun(query_, kRun);
  }
}

TEST_F(GpuSourceTest, DuringARunAFailedProbeIsUnknown) {
  Set({}, absl::UnavailableError("no driver today"));
  EXPECT_EQ(AfterNextLook().reason, "no driver today");
}

}  // namespace
}  // namespace fleetmark::agent
