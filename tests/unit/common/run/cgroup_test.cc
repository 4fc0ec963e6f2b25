#include "common/run/cgroup.h"

#include <sys/stat.h>

#include "gmock/gmock.h"

#include "common/run/cgroup_members.h"
#include "tests/unit/common/run/run_fixture.h"

namespace fleetmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CgroupLayoutTest, UnifiedOnly) {
  const CgroupLayout layout = ParseCgroupLayout(
      "25 21 0:22 / /proc rw - proc proc rw\n"
      "30 21 0:26 / /nowhere/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
      "0::/system.slice/agent.service\n");
  EXPECT_EQ(layout.unified.mount, "/nowhere/cgroup");
  EXPECT_TRUE(layout.old.empty());
  // There is no such folder, as in a container that shows less than the path says.
  EXPECT_EQ(layout.unified.own, "/nowhere/cgroup");
}

TEST(CgroupLayoutTest, OldWithSeveralControllersInOneMount) {
  const std::string folder = testing::TempDir() + "cgroup_layout";
  std::filesystem::create_directories(folder + "/cpu,cpuacct/a/b");
  std::filesystem::create_directories(folder + "/me mory/below");
  const CgroupLayout layout =
      ParseCgroupLayout("30 21 0:26 / " + folder + "/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
                            "31 21 0:27 /docker/x " + folder + "/me\\040mory rw - cgroup cgroup rw,memory\n",
                        "4:cpu,cpuacct:/a/b\n3:memory:/docker/x/below\n1:name=systemd:/\n");
  EXPECT_EQ(layout.old.at("cpu").own, folder + "/cpu,cpuacct/a/b");
  EXPECT_EQ(layout.old.at("cpuacct").own, folder + "/cpu,cpuacct/a/b");
  EXPECT_EQ(layout.old.at("memory").own, folder + "/me mory/below");
  EXPECT_THAT(WithAncestors(layout.old.at("cpu")),
              ElementsAre(folder + "/cpu,cpuacct/a/b", folder + "/cpu,cpuacct/a", folder + "/cpu,cpuacct"));
  EXPECT_TRUE(layout.unified.mount.empty());
  EXPECT_THAT(WithAncestors(layout.unified), IsEmpty());
}

TEST(CgroupLayoutTest, NonsenseIsNothing) {
  for (const char* text : {"", "\n\n", " - ", "a b c - cgroup2", "1 2 3 4 5 6 - cgroup x"}) {
    EXPECT_TRUE(ParseCgroupLayout(text, "0::/x\nnonsense\n::\n").unified.mount.empty());
  }
}

TEST(ThrottleWatchTest, CountsWhatIsThrottledMeanwhile) {
  const std::string mount = testing::TempDir() + "throttle";
  std::filesystem::create_directories(mount + "/a/b");
  const auto set = [](const std::string& folder, int throttled) {
    std::ofstream(folder + "/cpu.stat") << "usage_usec 5\nnr_periods 100\nnr_throttled " << throttled << "\n";
  };
  set(mount + "/a", 7);
  set(mount, 7);
  CgroupLayout layout;
  layout.unified = {mount, mount + "/a/b"};
  const ThrottleWatch watch(layout);
  EXPECT_EQ(watch.Read().periods, 0u);
  set(mount + "/a", 12);
  EXPECT_EQ(watch.Read().periods, 5u);
  EXPECT_EQ(watch.Read().cgroup, mount + "/a");
  std::filesystem::remove_all(mount);
  EXPECT_EQ(watch.Read().periods, 0u);
}

TEST(CgroupRootTest, SaysWhyThereIsNone) {
  const auto root = CgroupRoot::Open({}, {});
  EXPECT_EQ(root.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("version 2 is not mounted; version 1 has no"));
}

// With real cgroups, where this process may make them.
class CgroupRunTest : public RunFixture {
 protected:
  void SetUp() override {
    CgroupRoot::Options options;
    options.tag = marker_;
    options.move_self = false;
    auto root = CgroupRoot::Open(options, OwnCgroupLayout());
    if (!root.ok()) GTEST_SKIP() << root.status();
    root_.emplace(*std::move(root));
    cgroup_runner_.emplace(ProcessRunner::Options{LauncherPath(), &*root_}, RealClock());
  }

  RunOutcome RunIn(RunSpec spec) {
    spec.name = "run";
    const auto outcome = cgroup_runner_->Run(
        spec,
        [this](std::string_view line) {
          lines_.emplace_back(line);
          if (line == cancel_at_) cancel_.Cancel("users need the node", CancelCause::kGate);
          return true;
        },
        [](std::string_view) {}, cancel_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.value_or(RunOutcome());
  }

  std::optional<CgroupRoot> root_;
  std::optional<ProcessRunner> cgroup_runner_;
};

TEST_F(CgroupRunTest, IsMadeWithItsBoundsAndRemoved) {
  std::vector<std::string> folders;
  {
    const auto run = root_->Make("one", 64 << 20, 50);
    ASSERT_TRUE(run.ok()) << run.status();
    folders = run->folders();
    for (const std::string& folder : folders) EXPECT_TRUE(std::filesystem::exists(folder)) << folder;
    EXPECT_FALSE(run->Events().oom_kill);
    EXPECT_EQ(root_->Make("one", 0, 0).status().code(), absl::StatusCode::kAlreadyExists);
  }
  for (const std::string& folder : folders) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
}

TEST_F(CgroupRunTest, LeftoversOfAnEarlierProcessGo) {
  auto left = root_->Make("left", 0, 0);
  ASSERT_TRUE(left.ok());
  const std::string folder = left->folders().front();
  const pid_t pid = fork();
  if (pid == 0) {
    for (const std::string& f : left->folders()) launch::EnterCgroup(f.c_str());
    while (true) pause();
  }
  while (!std::filesystem::exists(folder + "/cgroup.procs") ||
         std::ifstream(folder + "/cgroup.procs").peek() == EOF) {
  }
  CgroupRoot::Options options;
  options.tag = marker_;
  options.move_self = false;
  signal(SIGCHLD, SIG_IGN);  // it is reaped as it ends
  const auto again = CgroupRoot::Open(options, OwnCgroupLayout());
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_NE(kill(pid, 0), 0);
  signal(SIGCHLD, SIG_DFL);
}

TEST_F(CgroupRunTest, PluginIsInItFromItsFirstInstruction) {
  RunSpec spec = Evil("good");
  spec.command = {"/bin/cat", "/proc/self/cgroup"};
  EXPECT_EQ(RunIn(spec).end, RunEnd::kExited);
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("fleetmark-runs-" + marker_ + "/run")));
}

TEST_F(CgroupRunTest, ForkBombIsStopped) {
  RunSpec spec = Evil("good");
  spec.command = {"/bin/sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 60", marker_};
  spec.bounds.processes = 40;
  const RunOutcome outcome = RunIn(spec);
  EXPECT_EQ(outcome.end, RunEnd::kTooManyProcesses);
  EXPECT_EQ(outcome.unkillable, 0);
  EXPECT_LT(outcome.elapsed, absl::Seconds(20));
}

TEST_F(CgroupRunTest, OutOfMemoryIsSeen) {
  RunSpec spec = Evil("good");
  spec.command = {"/bin/sh", "-c", "x=$(head -c 200000000 /dev/zero | tr '\\0' y); echo survived", marker_};
  spec.bounds.memory_bytes = 32 << 20;
  const RunOutcome outcome = RunIn(spec);
  EXPECT_EQ(outcome.end, RunEnd::kOutOfMemory);
  EXPECT_TRUE(outcome.at_memory_limit);
}

TEST_F(CgroupRunTest, GateCancelFreesTheNodeWithinASecond) {
  cancel_at_ = "ready";
  RunSpec spec = Evil("daemon_hang");  // ignores SIGTERM
  spec.term_grace = absl::Seconds(30);
  const RunOutcome outcome = RunIn(spec);
  EXPECT_EQ(outcome.end, RunEnd::kCancelled);
  EXPECT_LT(outcome.elapsed, absl::Seconds(1.5));
}

}  // namespace
}  // namespace fleetmark
