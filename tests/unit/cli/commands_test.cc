// The real program against a collector with canned answers: what each command prints, and its exit status.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "tests/unit/cli/fake_fleet_service.h"
#include "tests/unit/cli/process.h"

namespace fleetmark::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string Program() { return absl::StrCat(getenv("FM_BIN_DIR"), "/fleetmark"); }

// Arguments are separated by spaces.
std::vector<std::string> CommandLine(const std::string& arguments) {
  std::vector<std::string> command = {Program()};
  for (const auto& word : absl::StrSplit(arguments, ' ', absl::SkipEmpty())) command.emplace_back(word);
  return command;
}

Result RunProgram(const std::string& arguments, const std::string& collector) {
  return Process(CommandLine(arguments), {absl::StrCat("FLEETMARK_COLLECTOR=", collector)}).Wait();
}

class Commands : public testing::Test {
 protected:
  Result Run(const std::string& arguments) { return RunProgram(arguments, fleet_.address()); }

  template <typename Message>
  Message RunJson(const std::string& arguments) {
    const Result result = Run(absl::StrCat("-o json ", arguments));
    Message message;
    const auto status = google::protobuf::util::JsonStringToMessage(result.out, &message);
    EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << result.out << result.err;
    return message;
  }

  FakeFleet fleet_{RealClock().Now(), /*empty=*/false};
};

TEST_F(Commands, BackupSaysWhereItLiesAndWhatItIsWorth) {
  const Result result = Run("backup");
  EXPECT_THAT(result.out, HasSubstr("backup made: /backups/20261203T021500.250Z (12 files, "));
  EXPECT_THAT(result.out, HasSubstr("does not outlive that disk"));
  EXPECT_THAT(result.out, HasSubstr("removed 1 older"));
  EXPECT_EQ(RunJson<v1::BackupResponse>("backup").files(), 12u);
  FakeFleet without{RealClock().Now(), /*empty=*/true};
  const Result refused = RunProgram("backup", without.address());
  EXPECT_EQ(refused.exit_status, 5);
  EXPECT_THAT(refused.err, HasSubstr("store.backup_dir is not set"));
}

TEST_F(Commands, Status) {
  const Result result = Run("status");
  EXPECT_EQ(result.out, absl::StrCat("Collector  version 9.8.7 at ", fleet_.address(),
                                     ", up 2 h 5 m\n"
                                     "Nodes      1 connected of 2\n"
                                     "Series     5 with 120 samples\n"
                                     "Runs       12 (11 ok, 1 failed)\n"
                                     "Findings   2 open, 1 for the worse\n"
                                     "Store      1.5 MiB\n"
                                     "Problem    the store is nearly full\n"));
  EXPECT_EQ(result.exit_status, 1);  // because of the problem
  EXPECT_EQ(RunJson<v1::GetStatusResponse>("status").samples(), 120u);
}

TEST_F(Commands, Nodes) {
  const Result result = Run("nodes");
  EXPECT_EQ(result.out,
            "NAME      STATE      LAST SEEN  LAST RUN  FINDINGS  NOW             LABELS\n"
            "n1        connected  5 s ago    3 m ago          2  running stream  rack=r12\n"
            "knoten-ü  gone       2 d ago    never            0                  \n");
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(Run("nodes -o wide").out, HasSubstr("CLOCK OFF"));
  EXPECT_THAT(Run("-o csv nodes").out, StartsWith("name,state,last_seen,last_run,findings,now,agent,"));
}

TEST_F(Commands, OneNode) {
  const Result result = Run("nodes n1");
  EXPECT_THAT(result.out, HasSubstr("cpu.model        Pentium III\n"));
  EXPECT_THAT(result.out, HasSubstr("BENCHMARK  PLUGIN            SCHEDULE   SUITE  PARAMETERS\n"
                                    "stream     memory_bandwidth  every 15m"));
  const Result unknown = Run("nodes nobody");
  EXPECT_EQ(unknown.exit_status, 4);
  EXPECT_EQ(unknown.err, "fleetmark: no node is called nobody; `fleetmark nodes` lists them\n");
  EXPECT_THAT(unknown.out, IsEmpty());
}

TEST_F(Commands, SeriesFollowsThePages) {
  const Result result = Run("series");
  EXPECT_EQ(result.out,
            "ID  NODE  BENCHMARK  METRIC      LABELS   LAST  UNIT  BETTER    SAMPLES  LAST TIME\n"
            " 7  n1    stream     triad_rate  numa=0  12.35  GB/s  ↑ higher       40  3 m ago\n"
            " 8  n1    stream     triad_rate  numa=0  12.35  GB/s  ↑ higher       40  3 m ago\n"
            " 9  n1    stream     triad_rate  numa=0  12.35  GB/s  ↑ higher       40  3 m ago\n");
  EXPECT_EQ(RunJson<v1::ListSeriesResponse>("series").series_size(), 3);
  const Result two = Run("series --limit 2");
  EXPECT_THAT(two.out, Not(HasSubstr(" 9  n1")));
  EXPECT_EQ(two.err, "there are more; --limit shows them\n");
  EXPECT_THAT(Run("-o csv series").out, HasSubstr(",12.3456789,GB/s,"));
}

TEST_F(Commands, SamplesOfASeries) {
  const Result result = Run("series 7");
  EXPECT_EQ(result.out,
            "n1/stream triad_rate{numa=\"0\"}\n"
            "▁▃▆█\n"
            "4 of 40 samples, 10 to 13 GB/s, ↑ higher is better\n"
            "\n"
            "TIME     VALUE  SPREAD  RUN\n"
            "4 h ago     10   1.2 %  01JAAAAAAAAAAAAAAAAAAAAAAA\n"
            "3 h ago     11   1.2 %  01JAAAAAAAAAAAAAAAAAAAAAAA\n"
            "2 h ago     12   1.2 %  01JAAAAAAAAAAAAAAAAAAAAAAA\n"
            "1 h ago     13   1.2 %  01JAAAAAAAAAAAAAAAAAAAAAAA\n");
  EXPECT_EQ(result.err, "there are older samples; --limit shows them\n");
  EXPECT_EQ(Run("series 8").exit_status, 4);
  EXPECT_EQ(Run("series eight").exit_status, 2);
}

TEST_F(Commands, DetectInAStoredSeries) {
  const auto found = RunJson<google::protobuf::Struct>("detect --series 9");
  EXPECT_EQ(found.fields().at("samples").number_value(), 60);
  const auto& findings = found.fields().at("findings").list_value();
  ASSERT_EQ(findings.values_size(), 1);
  const auto& finding = findings.values(0).struct_value().fields();
  EXPECT_EQ(finding.at("kind").string_value(), "change");
  EXPECT_EQ(finding.at("index").number_value(), 40);
  EXPECT_TRUE(finding.at("lasting").bool_value());
  EXPECT_THAT(Run("detect --series 9").out, HasSubstr("40 to 40"));
  const auto better = RunJson<google::protobuf::Struct>("detect --series 9 --better lower");
  EXPECT_EQ(better.fields().at("findings").list_value().values_size(), 0);
  EXPECT_EQ(Run("detect --series 8").exit_status, 4);
  EXPECT_EQ(Run("detect --series nine").exit_status, 2);
  EXPECT_EQ(Run("detect").exit_status, 2);
  EXPECT_EQ(Run("detect file.csv --series 9").exit_status, 2);
}

TEST(Detect, ReadsAFileFromStandardInput) {
  const auto piped = [](const std::string& input) {
    return Process({"/bin/sh", "-c", absl::StrCat(input, " | ", Program(), " detect - -o json")}, {}).Wait();
  };
  const Result found = piped("for i in $(seq 60); do echo $((1000 + i * 7 % 5 + (i > 40) * 200)); done");
  EXPECT_EQ(found.exit_status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("\"samples\": 60"));
  EXPECT_THAT(found.out, HasSubstr("\"index\": 40"));
  const Result empty = piped(":");
  EXPECT_EQ(empty.exit_status, 2);
  EXPECT_THAT(empty.err, HasSubstr("standard input"));
}

TEST_F(Commands, Runs) {
  const Result result = Run("runs");
  EXPECT_EQ(result.out,
            "STARTED  NODE  BENCHMARK  OUTCOME      TOOK  RUN                         RESULT\n"
            "3 m ago  n1    stream     ok         4.25 s  01JAAAAAAAAAAAAAAAAAAAAAAA  triad_rate 12.35 GB/s\n"
            "1 h ago  n1    disk       failed   2 m 10 s  01JBBBBBBBBBBBBBBBBBBBBBBB  exit status 1\n");
  EXPECT_EQ(RunJson<v1::ListRunsResponse>("runs --outcome failed").runs_size(), 1);
  EXPECT_EQ(Run("runs --outcome bad").exit_status, 2);
}

TEST_F(Commands, OneRunWithItsLog) {
  const Result result = Run("runs 01JBBBBBBBBBBBBBBBBBBBBBBB");
  EXPECT_THAT(result.out, HasSubstr("Outcome     failed: exit status 1\n"));
  EXPECT_THAT(result.out, HasSubstr("Benchmark   disk on n1\n"));
  EXPECT_THAT(result.out, HasSubstr("Its log:\nreading\n [31mred [0m disk error\n"));
  EXPECT_EQ(Run("runs 01JZZZZZZZZZZZZZZZZZZZZZZZ").exit_status, 4);
}

TEST_F(Commands, Findings) {
  EXPECT_EQ(Run("findings").out,
            "FOUND     NODE  BENCHMARK  METRIC      LABELS  VERDICT   CHANGE  BEFORE  AFTER  UNIT     SURE  "
            "SINCE    "
            "STATE  SERIES\n"
            "10 m ago  n1    stream     triad_rate  numa=0  worse    -20.0 %    12.5     10  GB/s  99.99 %  "
            "1 h ago  "
            "open        7\n");
  EXPECT_THAT(Run("findings -o wide").out, HasSubstr("-20.0 % (-22.0 % to -18.0 %)"));
  EXPECT_EQ(RunJson<v1::ListFindingsResponse>("findings").findings(0).kind(), v1::Finding::KIND_CHANGE);
}

TEST_F(Commands, FindingsOfGroupsAndTheirMembers) {
  const auto groups = RunJson<v1::ListFindingsResponse>("findings --worse");
  ASSERT_EQ(groups.findings_size(), 1);
  EXPECT_EQ(groups.findings(0).kind(), v1::Finding::KIND_FLEET);
  EXPECT_THAT(Run("findings --worse").out, HasSubstr("gpu.driver 570.124"));
  const std::string wide = Run("findings --worse -o wide").out;
  EXPECT_THAT(wide, HasSubstr("fleet  yes         23"));
  EXPECT_THAT(wide, HasSubstr("23 of 24 nodes with gpu.driver 570.124, 0 of 180 others"));
  EXPECT_EQ(RunJson<v1::ListFindingsResponse>("findings --worse --members").findings_size(), 2);
  EXPECT_EQ(RunJson<v1::ListFindingsResponse>("findings --worse --node n1").findings_size(), 2);
}

TEST_F(Commands, Events) {
  EXPECT_EQ(Run("events").out,
            "TIME     NODE  KIND          SUBJECT         BY     WHAT\n"
            "1 h ago  n1    fact_changed  kernel.release  agent  6.1.0-1 → 6.1.0-2\n");
}

TEST_F(Commands, NoteIsRecordedWithItsAuthor) {
  EXPECT_EQ(Run("note n1 new_switch --kind maintenance").out,
            "noted as 01JDDDDDDDDDDDDDDDDDDDDDDD; `fleetmark events` shows it\n");
  ASSERT_EQ(fleet_.received().events.size(), 1u);
  const v1::Event event = fleet_.received().events[0];
  EXPECT_EQ(event.node(), "n1");
  EXPECT_EQ(event.message(), "new_switch");
  EXPECT_EQ(event.kind(), v1::Event::KIND_MAINTENANCE);
  EXPECT_THAT(event.author(), HasSubstr("@"));
  EXPECT_EQ(Run("note nobody text").exit_status, 4);
  EXPECT_EQ(Run("note n1 text --kind rumour").exit_status, 2);
}

TEST_F(Commands, RunPrintsProgressAndMetrics) {
  const Result result = Run("run n1 stream");
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.err,
            "stream on n1: queued\n"
            "stream on n1: running 50 %, triad\n");
  EXPECT_EQ(result.out,
            "stream on n1: ok, 4.25 s, run 01JAAAAAAAAAAAAAAAAAAAAAAA\n"
            "METRIC      VALUE  UNIT  SPREAD  REPEATED\n"
            "triad_rate  12.35  GB/s   1.2 %        10\n");
  EXPECT_EQ(RunJson<v1::RunProgress>("run n1 stream").run().outcome(), v1::OUTCOME_OK);
}

TEST_F(Commands, RunsExitStatusIsTheOutcome) {
  const Result failed = Run("run n1 broken");
  EXPECT_EQ(failed.exit_status, 1);
  EXPECT_THAT(failed.out, StartsWith("broken on n1: failed: exit status 1, 2 m 10 s"));
  const Result refused = Run("run n1 busy");
  EXPECT_EQ(refused.exit_status, 5);
  EXPECT_EQ(refused.err, "busy on n1: queued\nfleetmark: n1 refused to run busy: a user's job is running\n");
  const Result gone = Run("run gone stream");
  EXPECT_EQ(gone.exit_status, 5);
  EXPECT_EQ(gone.err, "fleetmark: node gone is not connected\n");
}

TEST_F(Commands, OneInterruptLeavesTheRunAndSaysSo) {
  Process process(CommandLine("run n1 endless"), {absl::StrCat("FLEETMARK_COLLECTOR=", fleet_.address())});
  ASSERT_TRUE(process.AwaitError("running 50 %"));
  process.Signal(SIGINT);
  const Result result = process.Wait();
  EXPECT_EQ(result.exit_status, 130);
  EXPECT_THAT(result.err, HasSubstr("press Ctrl-C again within 3s to cancel it"));
  EXPECT_THAT(result.err, HasSubstr("the run goes on; `fleetmark runs 01JAAAAAAAAAAAAAAAAAAAAAAA`"));
  EXPECT_THAT(fleet_.received().cancels, IsEmpty());
}

TEST_F(Commands, TwoInterruptsCancelTheRun) {
  Process process(CommandLine("run n1 endless"), {absl::StrCat("FLEETMARK_COLLECTOR=", fleet_.address())});
  ASSERT_TRUE(process.AwaitError("running 50 %"));
  process.Signal(SIGINT);
  ASSERT_TRUE(process.AwaitError("press Ctrl-C again"));
  process.Signal(SIGINT);
  const Result result = process.Wait();
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, StartsWith("endless on n1: cancelled"));
  ASSERT_EQ(fleet_.received().cancels.size(), 1u);
  EXPECT_EQ(fleet_.received().cancels[0].run_id(), "01JAAAAAAAAAAAAAAAAAAAAAAA");
}

TEST_F(Commands, Cancel) {
  EXPECT_EQ(Run("cancel n1 01JAAAAAAAAAAAAAAAAAAAAAAA --reason maintenance").exit_status, 0);
  ASSERT_EQ(fleet_.received().cancels.size(), 1u);
  EXPECT_THAT(fleet_.received().cancels[0].reason(), StartsWith("maintenance ("));
}

TEST_F(Commands, WatchGoesOnUntilInterrupted) {
  Process process(CommandLine("nodes nobody --watch 0.5"),
                  {absl::StrCat("FLEETMARK_COLLECTOR=", fleet_.address())});
  ASSERT_TRUE(process.AwaitError("lists them\nfleetmark: no node is called nobody"));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().exit_status, 0);
}

TEST_F(Commands, CompletionAsksTheCollectorForNames) {
  const auto complete = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command = {Program(), "__complete"};
    command.insert(command.end(), words.begin(), words.end());
    return Process(command, {absl::StrCat("FLEETMARK_COLLECTOR=", fleet_.address())}).Wait().out;
  };
  EXPECT_EQ(complete({"nodes", ""}), "knoten-ü\t\nn1\t\n");
  EXPECT_EQ(complete({"run", "n1", ""}), "stream\tevery 15m\n");
  EXPECT_EQ(complete({"series", "--metric", "t"}), "triad_rate\tGB/s\n");
  EXPECT_THAT(complete({"runs", ""}), HasSubstr("01JBBBBBBBBBBBBBBBBBBBBBBB\tdisk on n1, failed\n"));
  // One that the line itself names, where none answers: no candidates, no word, no wait.
  EXPECT_EQ(complete({"--collector", "127.0.0.1:1", "nodes", ""}), "");
}

TEST(EmptyCollector, EachListSaysWhatToDo) {
  FakeFleet fleet(RealClock().Now(), /*empty=*/true);
  for (const char* command : {"nodes", "series", "runs", "findings --all", "events"}) {
    const Result result = RunProgram(command, fleet.address());
    EXPECT_EQ(result.exit_status, 0) << command;
    EXPECT_THAT(result.out, IsEmpty()) << command;
    EXPECT_THAT(result.err, testing::AllOf(StartsWith("no "), HasSubstr(" yet"), HasSubstr("; "))) << command;
  }
  EXPECT_EQ(RunProgram("status", fleet.address()).exit_status, 0);
}

TEST(NoCollector, IsSaidAtOnce) {
  // A port that was free a moment ago.
  std::string address;
  { address = FakeFleet(RealClock().Now(), true).address(); }
  const Result result = RunProgram("status", address);
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_THAT(result.err, StartsWith(absl::StrCat("fleetmark: can't reach a collector at ", address)));
}

TEST(Usage, ErrorsAreTwoLinesAndStatusTwo) {
  const Result misspelt = RunProgram("nodez", "127.0.0.1:1");
  EXPECT_EQ(misspelt.exit_status, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("there is no command 'nodez'; did you mean 'nodes'?"));
  EXPECT_EQ(RunProgram("", "127.0.0.1:1").exit_status, 2);
  EXPECT_EQ(RunProgram("runs --limit 0", "127.0.0.1:1").exit_status, 2);
  EXPECT_EQ(RunProgram("findings --all --open", "127.0.0.1:1").exit_status, 2);
  const Result help = RunProgram("--help", "127.0.0.1:1");
  EXPECT_EQ(help.exit_status, 0);
  EXPECT_THAT(help.out, HasSubstr("Exit status:"));
  EXPECT_THAT(RunProgram("version", "127.0.0.1:1").out, StartsWith("fleetmark "));
}

class NewPlugin : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "/plugin_check_XXXXXX";
};

// Interpreted ones pass as they are written; a compiled one says how it is built.
TEST_P(NewPlugin, PassesItsCheck) {
  const std::string language = GetParam();
  ASSERT_EQ(
      RunProgram(absl::StrCat("plugin new probe --lang ", language, " --dir ", folder_), "").exit_status, 0);
  const std::string plugin = folder_ + "/probe";
  if (language == "cpp") {
    ASSERT_EQ(Process({"/usr/bin/make", "-s", "-C", plugin}, {}).Wait().exit_status, 0);
  }
  const Result result = RunProgram("plugin check " + plugin, "");
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("The plugin is fine."));
}

INSTANTIATE_TEST_SUITE_P(Languages, NewPlugin, testing::Values("sh", "python", "cpp"));

TEST_P(NewPlugin, CheckNamesWhatIsWrong) {
  ASSERT_EQ(
      RunProgram(absl::StrCat("plugin new probe --lang ", GetParam(), " --dir ", folder_), "").exit_status,
      0);
  std::filesystem::rename(folder_ + "/probe", folder_ + "/other");
  const Result result = RunProgram(absl::StrCat("plugin check ", folder_, "/other"), "");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("wrong "));
  EXPECT_THAT(result.out, HasSubstr("must be the folder's name"));
  EXPECT_EQ(RunProgram(absl::StrCat("plugin check ", folder_, "/none"), "").exit_status, 4);
}

TEST(PluginNew, WritesAPluginOnceAndNeverOverwrites) {
  std::string folder = testing::TempDir() + "/plugin_new_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const Result made = RunProgram(absl::StrCat("plugin new disk_probe --dir ", folder), "127.0.0.1:1");
  EXPECT_EQ(made.exit_status, 0) << made.err;
  struct stat program = {};
  ASSERT_EQ(stat((folder + "/disk_probe/disk_probe.sh").c_str(), &program), 0);
  EXPECT_EQ(program.st_mode & 0777, 0755u);
  EXPECT_EQ(RunProgram(absl::StrCat("plugin new disk_probe --dir ", folder), "127.0.0.1:1").exit_status, 5);
  EXPECT_EQ(RunProgram(absl::StrCat("plugin new Disk-Probe --dir ", folder), "127.0.0.1:1").exit_status, 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fleetmark::cli
