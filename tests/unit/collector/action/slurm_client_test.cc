#include "collector/action/slurm_client.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Shortened from Slurm 22.05.8.
constexpr char kDrained[] =
    "NodeName=n1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 NodeAddr=127.0.0.1 NodeHostName=vm Version=22.05.8 "
    "OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=2000 State=IDLE+DRAIN ThreadsPerCore=1 "
    "Partitions=main  BootTime=2026-12-03T09:27:52 SlurmdStartTime=2026-12-03T11:55:17 "
    "CfgTRES=cpu=2,mem=2000M,billing=2 AllocTRES= ExtSensorsTemp=n/s Reason=fleetmark action 01ABC: mem 25 % "
    "lower; finding 01XYZ [root@2026-12-03T11:55:18] Comment=State=DOWN";

TEST(SlurmNodeTest, ReadsADrainedNode) {
  const absl::StatusOr<SlurmNode> node = ParseSlurmNode(kDrained);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->name, "n1");
  EXPECT_THAT(node->states, UnorderedElementsAre("IDLE", "DRAIN"));
  EXPECT_EQ(node->reason, "fleetmark action 01ABC: mem 25 % lower; finding 01XYZ");
  EXPECT_EQ(node->stamp, "root@2026-12-03T11:55:18");
  EXPECT_EQ(absl::FormatTime(node->reason_time, absl::UTCTimeZone()), "2026-12-03T11:55:18+00:00");
  EXPECT_EQ(absl::FormatTime(node->boot_time, absl::UTCTimeZone()), "2026-12-03T09:27:52+00:00");
  EXPECT_TRUE(node->Drained());
  EXPECT_TRUE(node->ByPerson());
  EXPECT_FALSE(node->AtWork());
}

TEST(SlurmNodeTest, KnowsWhichStatesWork) {
  const auto state = [](const std::string& text) {
    const absl::StatusOr<SlurmNode> node = ParseSlurmNode("NodeName=n1 State=" + text + " BootTime=None");
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? *node : SlurmNode();
  };
  for (const char* good : {"IDLE", "MIXED", "ALLOCATED", "idle", "MIXED+PLANNED", "ALLOCATED+COMPLETING",
                           "IDLE+CLOUD", "IDLE+RESERVED"}) {
    EXPECT_TRUE(state(good).AtWork()) << good;
    EXPECT_FALSE(state(good).ByPerson()) << good;
  }
  for (const char* by_person : {"IDLE+DRAIN", "MIXED+DRAIN", "IDLE+MAINTENANCE", "IDLE+MAINT+RESERVED",
                                "DOWN+DRAIN", "IDLE+REBOOT_REQUESTED", "IDLE+POWERING_DOWN"}) {
    EXPECT_FALSE(state(by_person).AtWork()) << by_person;
    EXPECT_TRUE(state(by_person).ByPerson()) << by_person;
  }
  // "*": it does not respond. A state that nobody has heard of is no work.
  for (const char* away :
       {"DOWN", "DOWN*", "IDLE*", "UNKNOWN", "IDLE+SOMETHING_NEW", "IDLE+NOT_RESPONDING"}) {
    EXPECT_FALSE(state(away).AtWork()) << away;
    EXPECT_FALSE(state(away).ByPerson()) << away;
  }
}

TEST(SlurmNodeTest, RefusesWhatIsNoNode) {
  for (const char* bad : {"", "Node nope not found", "NodeName=n1", "State=IDLE", "NodeName= State="}) {
    EXPECT_FALSE(ParseSlurmNode(bad).ok()) << bad;
  }
  // Without its stamp, as a node that the configuration has down.
  EXPECT_EQ(ParseSlurmNode("NodeName=n1 State=DOWN Reason=none yet")->reason, "none yet");
}

TEST(SlurmReservationTest, ReadsMaintenance) {
  const auto of = [](const std::string& flags, const std::string& state) {
    return *ParseSlurmReservation(
        "ReservationName=mw StartTime=2026-12-03T11:55:18 EndTime=2026-12-03T12:05:18 Duration=00:10:00 "
        "Nodes=n[2-3] NodeCnt=2 PartitionName=(null) Flags=" +
        flags + " TRES=cpu=4 Users=root State=" + state + " BurstBuffer=(null)");
  };
  const SlurmReservation maintenance = of("MAINT,IGNORE_JOBS,SPEC_NODES", "ACTIVE");
  EXPECT_EQ(maintenance.name, "mw");
  EXPECT_EQ(maintenance.nodes, "n[2-3]");
  EXPECT_TRUE(maintenance.maintenance);
  EXPECT_TRUE(maintenance.active);
  EXPECT_EQ(absl::FormatTime(maintenance.end, absl::UTCTimeZone()), "2026-12-03T12:05:18+00:00");
  EXPECT_FALSE(of("SPEC_NODES", "ACTIVE").maintenance);
  EXPECT_FALSE(of("MAINT", "INACTIVE").active);
  EXPECT_FALSE(ParseSlurmReservation("No reservations in the system").ok());
}

// Answers as a test tells it to.
class ScriptedRunner final : public Runner {
 public:
  absl::StatusOr<RunOutcome> Run(const RunSpec& spec, absl::FunctionRef<bool(std::string_view)> on_line,
                                 absl::FunctionRef<void(std::string_view)> on_log, CancelToken&) override {
    last = spec;
    for (const std::string& line : out) on_line(line);
    if (!err.empty()) on_log(err);
    return outcome;
  }
  std::vector<std::string> out;
  std::string err;
  RunOutcome outcome;
  RunSpec last;
};

class SlurmClientTest : public testing::Test {
 protected:
  ScriptedRunner runner_;
  CancelToken cancel_;
  SlurmClient slurm_{{.slurm_conf = "/etc/slurm/x.conf"}, runner_, cancel_};
};

TEST_F(SlurmClientTest, AReasonIsOneArgumentAndTimesAreUtc) {
  ASSERT_TRUE(slurm_.Drain("n1", "fleetmark 01A: slow; rm -rf").ok());
  EXPECT_THAT(runner_.last.command, ElementsAre("scontrol", "update", "nodename=n1", "state=drain",
                                                "reason=fleetmark 01A: slow; rm -rf"));
  EXPECT_EQ(runner_.last.environment.at("TZ"), "UTC");
  EXPECT_EQ(runner_.last.environment.at("SLURM_CONF"), "/etc/slurm/x.conf");
}

TEST_F(SlurmClientTest, TellsErrorsApart) {
  runner_.outcome.exit_status = 1;
  runner_.out = {"Node n9 not found"};
  EXPECT_TRUE(absl::IsNotFound(slurm_.Node("n9").status()));
  runner_.out = {};
  runner_.err = "slurm_update error: Invalid node name specified";
  EXPECT_TRUE(absl::IsNotFound(slurm_.Drain("n9", "x")));
  runner_.err = "slurm_update error: Invalid user id";
  EXPECT_TRUE(absl::IsPermissionDenied(slurm_.Drain("n1", "x")));
  runner_.err = "slurm_load_node error: Unable to contact slurm controller (connect failure)";
  EXPECT_TRUE(absl::IsUnavailable(slurm_.Node("n1").status()));
  runner_.outcome.end = RunEnd::kTimedOut;
  EXPECT_TRUE(absl::IsDeadlineExceeded(slurm_.Node("n1").status()));
}

TEST_F(SlurmClientTest, AnEmptyAnswerIsNoNode) {
  EXPECT_TRUE(absl::IsNotFound(slurm_.Node("n1").status()));
  runner_.out = {kDrained};
  EXPECT_TRUE(absl::IsNotFound(slurm_.Node("n2").status()));
  EXPECT_TRUE(slurm_.Node("n1").ok());
  runner_.out = {"No reservations in the system"};
  EXPECT_TRUE(slurm_.Reservations()->empty());
}

}  // namespace
}  // namespace fleetmark::collector
