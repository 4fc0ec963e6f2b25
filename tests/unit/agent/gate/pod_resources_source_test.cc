#include "agent/gate/pod_resources_source.h"

#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

class FakeLister final : public PodLister {
 public:
  absl::StatusOr<std::vector<PodUse>> List(absl::Duration) override {
    MutexLock lock(mu_);
    ++lists_;
    changed_.NotifyAll();
    while (held_) changed_.Wait(mu_);
    return answer_;
  }
  void Set(absl::StatusOr<std::vector<PodUse>> answer) {
    MutexLock lock(mu_);
    answer_ = std::move(answer);
  }
  void Hold(bool held) {
    MutexLock lock(mu_);
    held_ = held;
    changed_.NotifyAll();
  }
  void AwaitLists(int count) {
    MutexLock lock(mu_);
    while (lists_ < count) changed_.Wait(mu_);
  }
  int lists() {
    MutexLock lock(mu_);
    return lists_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  int lists_ ABSL_GUARDED_BY(mu_) = 0;
  absl::StatusOr<std::vector<PodUse>> answer_ ABSL_GUARDED_BY(mu_) = std::vector<PodUse>();
};

const Gpu kGpu0{"gpu0", "nvidia", "GPU-aaaa", "0000:3b:00.0"};
const Gpu kGpu1{"gpu1", "nvidia", "GPU-bbbb", "0000:5e:00.0"};
const Gpu kAmd{"gpu0", "amd", "", "0000:c1:00.0"};

GateQuery UsesGpu(const Gpu& gpu) {
  GateQuery query;
  query.uses_gpu = true;
  query.gpus = {gpu};
  return query;
}

class PodResourcesSourceTest : public testing::Test {
 protected:
  // Asks as the gate does during a run, until the answer is `state`.
  GateAnswer Until(PodResourcesSource& source, GateAnswer::State state) {
    GateAnswer answer;
    do {
      answer = source.DuringRun(UsesGpu(kGpu0), 1);
    } while (answer.state != state);
    return answer;
  }

  FakeClock clock_;
  FakeLister lister_;
  PodResourcesSource source_{{.mode = SourceMode::kOn}, lister_, clock_};
};

TEST(IsSameGpu, Names) {
  const auto same = [](const char* resource, const char* id, const Gpu& gpu) {
    return IsSameGpu({resource, id}, gpu);
  };
  EXPECT_TRUE(same("nvidia.com/gpu", "GPU-aaaa", kGpu0));
  EXPECT_FALSE(same("nvidia.com/gpu", "GPU-aaaa", kGpu1));
  EXPECT_TRUE(same("nvidia.com/gpu.shared", "GPU-aaaa::2", kGpu0));
  EXPECT_TRUE(same("amd.com/gpu", "0000:c1:00.0", kAmd));
  EXPECT_TRUE(same("amd.com/gpu", "c1:00.0", kAmd));
  EXPECT_FALSE(same("amd.com/gpu", "0000:c2:00.0", kAmd));
  EXPECT_TRUE(same("nvidia.com/gpu", "1", kGpu1));
  EXPECT_FALSE(same("nvidia.com/gpu", "1", kGpu0));
  EXPECT_FALSE(same("amd.com/gpu", "0", kGpu0)) << "another vendor's";
  EXPECT_FALSE(same("vendor.com/nic", "0", kGpu0));
  EXPECT_TRUE(same("gpu.nvidia.com", "gpu-1", kGpu1)) << "a dynamic resource";
  EXPECT_TRUE(same("nvidia.com/mig-1g.5gb", "MIG-GPU-aaaa/1/0", kGpu0));
  EXPECT_FALSE(same("nvidia.com/mig-1g.5gb", "MIG-GPU-aaaa/1/0", kGpu1));
  EXPECT_TRUE(same("nvidia.com/mig-1g.5gb", "MIG-cccc", kGpu1)) << "does not say whose it is";
}

TEST_F(PodResourcesSourceTest, ADeviceThatAPodHasIsBusy) {
  lister_.Set(std::vector<PodUse>{{"ml", "train-0", {{"nvidia.com/gpu", "GPU-aaaa"}}, 0}});
  EXPECT_EQ(source_.BeforeRun(UsesGpu(kGpu0)).reason, "pod ml/train-0 has gpu0 (GPU-aaaa)");
  EXPECT_TRUE(source_.BeforeRun(UsesGpu(kGpu1)).free());
  GateQuery all;
  all.uses_gpu = true;
  EXPECT_FALSE(source_.BeforeRun(all).free());
  EXPECT_TRUE(source_.BeforeRun({}).free()) << "a run that uses neither GPU nor all CPUs";
}

TEST_F(PodResourcesSourceTest, CpusOfAPodsOwn) {
  lister_.Set(std::vector<PodUse>{{"ml", "pinned", {}, 4}});
  GateQuery exclusive;
  exclusive.cpu_exclusive = true;
  EXPECT_EQ(source_.BeforeRun(exclusive).reason, "pod ml/pinned has 4 CPUs of its own");
}

TEST_F(PodResourcesSourceTest, WatchersAndTheAgentItselfDoNotCount) {
  PodResourcesSource source(
      {.mode = SourceMode::kOn, .ignore_namespaces = {"monitoring"}, .own_pod = "fm/agent"}, lister_, clock_);
  lister_.Set(std::vector<PodUse>{{"monitoring", "dcgm", {{"nvidia.com/gpu", "GPU-aaaa"}}, 0},
                                  {"fm", "agent", {{"nvidia.com/gpu", "GPU-aaaa"}}, 0}});
  EXPECT_TRUE(source.BeforeRun(UsesGpu(kGpu0)).free());
}

TEST_F(PodResourcesSourceTest, AKubeletThatDoesNotAnswerIsUnknown) {
  lister_.Set(absl::UnavailableError("no socket"));
  const GateAnswer answer = source_.BeforeRun(UsesGpu(kGpu0));
  EXPECT_EQ(answer.state, GateAnswer::State::kUnknown);
  EXPECT_EQ(answer.reason, "no socket");
  lister_.Set(std::vector<PodUse>());
  EXPECT_TRUE(source_.BeforeRun(UsesGpu(kGpu0)).free());
}

TEST_F(PodResourcesSourceTest, DuringARunAPodThatGetsTheDeviceIsSeen) {
  EXPECT_TRUE(source_.BeforeRun(UsesGpu(kGpu0)).free());
  lister_.Set(std::vector<PodUse>{{"ml", "late", {{"nvidia.com/gpu", "GPU-aaaa"}}, 0}});
  EXPECT_EQ(Until(source_, GateAnswer::State::kBusy).reason, "pod ml/late has gpu0 (GPU-aaaa)");
  EXPECT_EQ(lister_.lists(), 2);
}

TEST_F(PodResourcesSourceTest, DuringARunTheKubeletIsAskedOnceASecond) {
  source_.BeforeRun(UsesGpu(kGpu0));
  for (int i = 0; i < 50; ++i) {
    source_.DuringRun(UsesGpu(kGpu0), 1);
    clock_.Advance(absl::Milliseconds(200));
  }
  EXPECT_LE(lister_.lists(), 12);
}

TEST_F(PodResourcesSourceTest, AKubeletThatHangsDoesNotHoldUpARun) {
  source_.BeforeRun(UsesGpu(kGpu0));
  lister_.Hold(true);
  EXPECT_TRUE(source_.DuringRun(UsesGpu(kGpu0), 1).free());
  lister_.AwaitLists(2);
  clock_.Advance(absl::Seconds(6));
  EXPECT_EQ(source_.DuringRun(UsesGpu(kGpu0), 1).reason, "the kubelet's last answer is too old");
  EXPECT_EQ(lister_.lists(), 2) << "not asked again while a question is under way";
  lister_.Hold(false);
  Until(source_, GateAnswer::State::kFree);
}

TEST_F(PodResourcesSourceTest, AutoAsksOnlyWhereTheKubeletIs) {
  Files files;
  PodResourcesSource source({.socket = files.Path("/pod-resources/kubelet.sock")}, lister_, clock_);
  EXPECT_TRUE(source.BeforeRun(UsesGpu(kGpu0)).free());
  EXPECT_EQ(lister_.lists(), 0);
  files.Folder("/pod-resources");
  lister_.Set(absl::UnavailableError("no socket"));
  EXPECT_EQ(source.BeforeRun(UsesGpu(kGpu0)).state, GateAnswer::State::kUnknown);
}

}  // namespace
}  // namespace fleetmark::agent
