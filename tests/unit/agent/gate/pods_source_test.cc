#include "agent/gate/pods_source.h"

#include <thread>

#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

class PodsSourceTest : public testing::Test {
 protected:
  PodsSource Source(PodsSource::Options options = {}) {
    options.cgroup_root = files_.root();
    options.own_pod_uid = "own-1";
    return PodsSource(options, clock_);
  }

  void V2(const std::string& uid, int64_t usec) {
    files_.Write("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid + ".slice/cpu.stat",
                 "usage_usec " + std::to_string(usec) + "\nuser_usec 1\n");
  }
  void V1(const std::string& uid, int64_t usec) {
    files_.Write("/cpuacct/kubepods/besteffort/pod" + uid + "/cpuacct.usage",
                 std::to_string(usec * 1000) + "\n");
  }

  template <typename Change>
  GateAnswer Before(PodsSource& source, Change change) {
    GateAnswer answer;
    std::thread asks([&] { answer = source.BeforeRun({}); });
    clock_.AwaitWaiters(1);
    change();
    clock_.Advance(absl::Milliseconds(200));
    asks.join();
    return answer;
  }

  Files files_;
  FakeClock clock_;
};

TEST_F(PodsSourceTest, PodsThatComputeAreBusy) {
  PodsSource source = Source();
  V2("a_b", 1000);
  EXPECT_EQ(Before(source, [&] { V2("a_b", 1000 + 300'000); }).reason,
            "other pods use 1.5 CPUs (limit 0.5), most of all pod a-b");
  EXPECT_TRUE(Before(source, [&] { V2("a_b", 1000 + 320'000); }).free());
}

TEST_F(PodsSourceTest, Version1) {
  PodsSource source = Source();
  V1("c", 1000);
  EXPECT_FALSE(Before(source, [&] { V1("c", 1000 + 300'000); }).free());
}

TEST_F(PodsSourceTest, TheAgentsOwnPodDoesNotCount) {
  PodsSource source = Source();
  V2("own_1", 0);
  EXPECT_TRUE(Before(source, [&] { V2("own_1", 400'000); }).free());
}

TEST_F(PodsSourceTest, DuringARun) {
  PodsSource source = Source();
  V2("a", 0);
  EXPECT_TRUE(source.DuringRun({}, 1).free());
  V2("a", 2'000'000);
  clock_.Advance(absl::Milliseconds(500));
  EXPECT_TRUE(source.DuringRun({}, 1).free()) << "looks once a second";
  clock_.Advance(absl::Milliseconds(500));
  EXPECT_FALSE(source.DuringRun({}, 1).free());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(source.DuringRun({}, 1).free());
}

TEST_F(PodsSourceTest, WithoutPods) {
  EXPECT_TRUE(Source().BeforeRun({}).free());
  EXPECT_EQ(Source({.mode = SourceMode::kOn}).BeforeRun({}).state, GateAnswer::State::kUnknown);
}

TEST_F(PodsSourceTest, Maintenance) {
  PodsSource::Options options;
  options.maintenance_file = files_.Path("/labels");
  options.maintenance_match = "fleetmark/maintenance=true";
  options.maintenance_required = true;
  PodsSource source = Source(options);
  EXPECT_FALSE(source.BeforeRun({}).free());
  EXPECT_FALSE(source.DuringRun({}, 1).free());
  files_.Write("/labels", "app=\"x\"\nfleetmark/maintenance=\"true\"\n");
  EXPECT_TRUE(source.BeforeRun({}).free());
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(source.DuringRun({}, 1).free());
  files_.Write("/labels", "fleetmark/maintenance=\"true2\"\n");
  EXPECT_FALSE(source.BeforeRun({}).free());
}

}  // namespace
}  // namespace fleetmark::agent
