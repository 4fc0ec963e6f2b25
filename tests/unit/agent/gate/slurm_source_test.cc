#include "agent/gate/slurm_source.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "gtest/gtest.h"

#include "common/base/file.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/fake_runner.h"
#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

UniqueFd ListenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(fd.get(), 5), 0);
  return fd;
}

class SlurmSourceTest : public testing::Test {
 protected:
  SlurmSourceTest() { files_.Folder("/spool"); }

  std::string During(const GateQuery& query = {}) { return Source().DuringRun(query, 1).reason; }

  SlurmSource& Source() {
    if (source_ == nullptr) {
      SlurmSource::Options options;
      options.node = "n1";
      options.spool_dir = files_.Path("/spool");
      options.slurm_conf = files_.Path("/slurm.conf");
      options.prolog_flag_dir = flags_;
      options.cgroup_root = files_.Path("/cgroup");
      options.root = files_.root();
      source_ = std::make_unique<SlurmSource>(options, runner_, clock_);
    }
    return *source_;
  }

  void WriteScript(int pid, const std::string& job, const std::string& context, const std::string& node) {
    const std::string zero(1, '\0');
    WriteProcess(files_, pid, 100, "prolog.sh", 0);
    files_.Write("/proc/" + std::to_string(pid) + "/environ", "SLURM_JOB_ID=" + job + zero +
                                                                  "SLURM_SCRIPT_CONTEXT=" + context + zero +
                                                                  "SLURMD_NODENAME=" + node + zero);
  }

  Files files_;
  FakeClock clock_;
  FakeRunner runner_;
  std::string flags_;
  std::unique_ptr<SlurmSource> source_;
};

TEST_F(SlurmSourceTest, AnIdleNodeIsFree) {
  EXPECT_TRUE(Source().BeforeRun({}).free());
  EXPECT_EQ(Source().controller_queries(), 1u);
  EXPECT_EQ(During(), "");
  EXPECT_EQ(Source().controller_queries(), 1u) << "no server is asked during a run";
}

TEST_F(SlurmSourceTest, AStepsSocketIsAJobAslongAsSomebodyListens) {
  UniqueFd listener = ListenAt(files_.Path("/spool/n1_42.4294967292"));
  EXPECT_EQ(During(), "job 42 runs on this node");
  EXPECT_FALSE(Source().BeforeRun({}).free());
  EXPECT_EQ(Source().controller_queries(), 0u);
  listener.Reset();
  EXPECT_EQ(During(), "") << "stale";
}

TEST_F(SlurmSourceTest, OtherThingsInTheSpoolAreNoJobs) {
  const UniqueFd other = ListenAt(files_.Path("/spool/n10_42.0"));
  const UniqueFd odd = ListenAt(files_.Path("/spool/n1_x.0"));
  files_.Write("/spool/n1_43.0", "a file");
  files_.Folder("/spool/job00044");
  EXPECT_EQ(During(), "");
}

TEST_F(SlurmSourceTest, CgroupsOfBothVersions) {
  files_.Write("/cgroup/system.slice/slurmstepd.scope/job_7/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(During(), "job 7 runs on this node");
  files_.Write("/cgroup/system.slice/slurmstepd.scope/job_7/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_EQ(During(), "");
  files_.Write("/cgroup/freezer/slurm_n1/uid_0/job_8/step_batch/cgroup.procs", "123\n");
  EXPECT_EQ(During(), "job 8 runs on this node");
  files_.Write("/cgroup/freezer/slurm_n1/uid_0/job_8/step_batch/cgroup.procs", "");
  EXPECT_EQ(During(), "");
  files_.Write("/cgroup/cpuset/slurm/uid_5/job_9/cgroup.procs", "123\n");
  EXPECT_EQ(During(), "job 9 runs on this node");
}

TEST_F(SlurmSourceTest, PrologsAndEpilogsAreChildrenOfSlurmd) {
  WriteProcess(files_, 100, 1, "slurmd", 0, 0, "101 ");
  WriteProcess(files_, 101, 100, "health.sh", 0);
  files_.Write("/proc/101/environ", "SLURMD_NODENAME=n1");
  EXPECT_EQ(During(), "") << "a health check is no job";
  WriteScript(101, "5", "prolog_slurmd", "n2");
  EXPECT_EQ(During(), "") << "another node's, where slurmd stands for several";
  WriteScript(101, "5", "prolog_slurmd", "n1");
  EXPECT_EQ(During(), "the prolog of job 5 runs on this node");
  WriteScript(101, "5", "epilog_slurmd", "n1");
  EXPECT_EQ(During(), "the epilog of job 5 runs on this node");
}

TEST_F(SlurmSourceTest, AJobsOwnEpilogMayMeasure) {
  WriteProcess(files_, 100, 1, "slurmd", 0, 0, "101 ");
  WriteScript(101, "5", "epilog_slurmd", "n1");
  runner_.out = "NodeName=n1 State=IDLE+COMPLETING";
  GateQuery query;
  query.trigger = v1::TRIGGER_EPILOG;
  EXPECT_TRUE(Source().BeforeRun(query).free()) << "the only epilog";
  query.job_id = "5";
  EXPECT_EQ(During(query), "");
  query.job_id = "6";
  EXPECT_EQ(During(query), "the epilog of job 5 runs on this node");
  query.job_id = "5";
  const UniqueFd other = ListenAt(files_.Path("/spool/n1_6.0"));
  EXPECT_EQ(During(query), "job 6 runs on this node");
}

TEST_F(SlurmSourceTest, FlagFilesOfTheSite) {
  flags_ = files_.Path("/flags");
  EXPECT_EQ(Source().DuringRun({}, 1).state, GateAnswer::State::kUnknown) << "a folder that is not there";
  files_.Folder("/flags");
  EXPECT_EQ(During(), "");
  files_.Write("/flags/77", "");
  EXPECT_EQ(During(), "job 77 has its flag file on this node");
}

TEST_F(SlurmSourceTest, AutoAsksOnlyWhereSlurmIs) {
  files_.Remove("/spool");
  EXPECT_TRUE(Source().BeforeRun({}).free());
  EXPECT_EQ(Source().controller_queries(), 0u);
  files_.Write("/slurm.conf", "ClusterName=x\n");
  EXPECT_EQ(Source().BeforeRun({}).state, GateAnswer::State::kUnknown) << "the spool must be there as well";
  files_.Folder("/spool");
  EXPECT_TRUE(Source().BeforeRun({}).free());
  EXPECT_EQ(Source().controller_queries(), 1u);
}

TEST_F(SlurmSourceTest, AControllerThatIsGoneIsUnknownWithATime) {
  runner_.out = "";
  runner_.outcome.exit_status = 1;
  const GateAnswer answer = Source().BeforeRun({});
  EXPECT_EQ(answer.state, GateAnswer::State::kUnknown);
  EXPECT_GT(answer.retry_after, absl::ZeroDuration());
}

TEST(SpoolDir, OfSlurmConf) {
  EXPECT_EQ(SpoolDirOf("ClusterName=x\n slurmdspooldir = /var/spool/%n/d  # here\n", "n1"),
            "/var/spool/n1/d");
  EXPECT_EQ(SpoolDirOf("#SlurmdSpoolDir=/x\n", "n1"), "/var/spool/slurmd");
}

}  // namespace
}  // namespace fleetmark::agent
