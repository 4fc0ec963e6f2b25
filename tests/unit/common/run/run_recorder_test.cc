#include "common/run/run_recorder.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/ulid.h"
#include "common/model/limits.h"
#include "common/model/series.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

PluginManifest Manifest() {
  PluginManifest manifest;
  manifest.name = "evil";
  manifest.version = "1";
  manifest.metrics = {{"rate", "GB/s", v1::BETTER_HIGHER, 0.02, {"device"}, true, ""},
                      {"latency", "ns", v1::BETTER_LOWER, 0.02, {}, false, ""}};
  return manifest;
}

constexpr char kRate[] = R"({"type":"metric","name":"rate","value":1.5,"unit":"GB/s"})";
constexpr char kDone[] = R"({"type":"done"})";

class RunRecorderTest : public testing::Test {
 protected:
  v1::Run Record(const std::vector<std::string>& lines, RunOutcome outcome = {}) {
    RunRecorder recorder(manifest_, progress_);
    for (const std::string& line : lines) {
      if (recorder.OnLine(line)) continue;
      outcome.end = RunEnd::kRefused;
      break;
    }
    v1::Run run;
    run.set_run_id(NewUlid(absl::FromUnixSeconds(1)));
    run.set_benchmark("b");
    run.set_plugin("evil");
    recorder.Finish(outcome, terms_, run);
    EXPECT_TRUE(CheckRun(run).ok()) << CheckRun(run);
    return run;
  }

  static RunOutcome Exit(int status) {
    RunOutcome outcome;
    outcome.exit_status = status;
    return outcome;
  }

  PluginManifest manifest_ = Manifest();
  RunRecorder::Terms terms_ = {absl::Seconds(5), "a person asked"};
  std::vector<double> fractions_;
  std::function<void(double, std::string_view)> progress_ = [this](double fraction, std::string_view) {
    fractions_.push_back(fraction);
  };
};

TEST_F(RunRecorderTest, GoodRunIsOk) {
  const v1::Run run = Record({R"({"type":"progress","fraction":0.5})", kRate, kDone});
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.reason(), "");
  ASSERT_EQ(run.metrics_size(), 1);
  EXPECT_EQ(run.metrics(0).value(), 1.5);
  EXPECT_EQ(run.metrics(0).better(), v1::BETTER_HIGHER);
  EXPECT_EQ(run.metrics(0).repetitions(), 0u);
  EXPECT_THAT(fractions_, testing::ElementsAre(0.5));
}

TEST_F(RunRecorderTest, SamplesBecomeMedianCountAndSpread) {
  std::vector<std::string> lines;
  for (const char* value : {"10", "12", "11", "14", "100"}) {
    lines.push_back(absl::StrCat(R"({"type":"sample","name":"rate","unit":"GB/s","value":)", value, "}"));
  }
  lines.push_back(kDone);
  const v1::Run run = Record(lines);
  ASSERT_EQ(run.metrics_size(), 1);
  EXPECT_EQ(run.metrics(0).value(), 12);
  EXPECT_EQ(run.metrics(0).repetitions(), 5u);
  EXPECT_NEAR(run.metrics(0).relative_spread(), 1.4826 * 2 / 12, 1e-12);
}

TEST_F(RunRecorderTest, LabelsKeepValuesApart) {
  const v1::Run run =
      Record({R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","labels":{"device":"a"}})",
              R"({"type":"metric","name":"rate","value":2,"unit":"GB/s","labels":{"device":"b"}})", kDone});
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.metrics_size(), 2);
}

struct Ending {
  int status;
  v1::Outcome outcome;
  const char* reason;
};

TEST_F(RunRecorderTest, ExitStatusDecides) {
  for (const Ending& ending : {Ending{0, v1::OUTCOME_FAILED, "without 'done'"},
                               Ending{77, v1::OUTCOME_SKIPPED, "no such device here"},
                               Ending{75, v1::OUTCOME_SKIPPED, "try again later: no such device here"},
                               Ending{78, v1::OUTCOME_FAILED, "wrong parameters: no such device here"},
                               Ending{3, v1::OUTCOME_FAILED, "exit status 3: no such device here"}}) {
    const v1::Run run = Record({kRate, "no such device here", "  "}, Exit(ending.status));
    EXPECT_EQ(run.outcome(), ending.outcome) << ending.status;
    EXPECT_THAT(run.reason(), HasSubstr(ending.reason));
    EXPECT_EQ(run.exit_status(), ending.status);
  }
  EXPECT_EQ(Record({kRate, kDone}, Exit(1)).outcome(), v1::OUTCOME_FAILED);
}

TEST_F(RunRecorderTest, HowItWasStoppedDecides) {
  RunOutcome outcome;
  outcome.end = RunEnd::kTimedOut;
  EXPECT_EQ(Record({kRate, kDone}, outcome).outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_THAT(Record({}, outcome).reason(), HasSubstr("5s"));
  outcome.end = RunEnd::kCancelled;
  EXPECT_EQ(Record({kRate, kDone}, outcome).outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(Record({}, outcome).reason(), "a person asked");
  outcome.end = RunEnd::kSignaled;
  outcome.signal = 11;
  EXPECT_THAT(Record({kRate, kDone}, outcome).reason(), HasSubstr("signal 11 (Segmentation fault)"));
  outcome = RunOutcome();
  outcome.end = RunEnd::kCancelled;
  EXPECT_EQ(Record({}, outcome).ending(), v1::ENDING_CANCELLED);
  terms_.cancel_cause = CancelCause::kGate;
  EXPECT_EQ(Record({}, outcome).ending(), v1::ENDING_GATE);
  for (RunEnd end : {RunEnd::kOutputTooLong, RunEnd::kLineTooLong, RunEnd::kReaperLost}) {
    outcome.end = end;
    EXPECT_EQ(Record({kRate, kDone}, outcome).outcome(), v1::OUTCOME_FAILED);
  }
}

TEST_F(RunRecorderTest, EndingsAreToldApart) {
  EXPECT_EQ(Record({kRate, kDone}).ending(), v1::ENDING_DONE);
  EXPECT_EQ(Record({kRate}).ending(), v1::ENDING_EXIT_STATUS);
  EXPECT_EQ(Record({}, Exit(77)).ending(), v1::ENDING_SKIPPED);
  EXPECT_EQ(Record({}, Exit(78)).ending(), v1::ENDING_EXIT_STATUS);
  EXPECT_EQ(Record({kDone}).ending(), v1::ENDING_INVALID);
  terms_.bounds.memory_bytes = int64_t{4} << 30;
  terms_.bounds.work_dir_bytes = 1 << 20;
  terms_.bounds.processes = 50;
  struct Case {
    RunEnd end;
    v1::Ending ending;
    const char* reason;
  };
  for (const Case& c : {Case{RunEnd::kTimedOut, v1::ENDING_TIMEOUT, "5s"},
                        Case{RunEnd::kReaperLost, v1::ENDING_SIGNAL, "watched over"},
                        Case{RunEnd::kLineTooLong, v1::ENDING_OVER_LIMIT, "64KiB"},
                        Case{RunEnd::kOutputTooLong, v1::ENDING_OVER_LIMIT, "20000 lines"},
                        Case{RunEnd::kWorkFolderFull, v1::ENDING_OVER_LIMIT, "1MiB"},
                        Case{RunEnd::kTooManyProcesses, v1::ENDING_OVER_LIMIT, "50 processes"},
                        Case{RunEnd::kOutOfMemory, v1::ENDING_OUT_OF_MEMORY, "the machine had none left"}}) {
    RunOutcome outcome;
    outcome.end = c.end;
    const v1::Run run = Record({kRate, kDone}, outcome);
    EXPECT_EQ(run.ending(), c.ending);
    EXPECT_THAT(run.reason(), HasSubstr(c.reason));
  }
  RunOutcome outcome;
  outcome.end = RunEnd::kOutOfMemory;
  outcome.at_memory_limit = true;
  EXPECT_THAT(Record({}, outcome).reason(), HasSubstr("its limit of 4GiB"));
}

TEST_F(RunRecorderTest, ThrottledRunIsInvalid) {
  RunOutcome outcome;
  outcome.throttling = {17, "/sys/fs/cgroup/user.slice"};
  const v1::Run run = Record({kRate, kDone}, outcome);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INVALID);
  EXPECT_EQ(run.ending(), v1::ENDING_THROTTLED);
  EXPECT_THAT(run.reason(), HasSubstr("17 periods by the CPU quota of /sys/fs/cgroup/user.slice"));
  // What failed by itself is not excused by a quota.
  EXPECT_EQ(Record({kRate}, outcome).ending(), v1::ENDING_EXIT_STATUS);
}

TEST_F(RunRecorderTest, WhatCannotBeTrustedIsInvalid) {
  const std::vector<std::vector<std::string>> cases = {
      {kDone},                                                                       // rate is required
      {kRate, kRate, kDone},                                                         // twice
      {kRate, R"({"type":"sample","name":"rate","value":1,"unit":"GB/s"})", kDone},  // metric, then sample
      {kRate, R"({"type":"metric","name":"rtae","value":1,"unit":"GB/s"})", kDone},  // unknown
      {kRate, R"({"type":"metric","name":"latency","value":1,"unit":"s"})", kDone},  // unit
      {kRate, R"({"type":"metric","name":"latency","value":1e999,"unit":"ns"})", kDone},  // not finite
      {kRate, R"({"type":"invalid","message":"residual too large"})", kDone},
      {kRate, "{broken", kDone},
      {kRate, kDone, kDone},
  };
  for (const auto& lines : cases) {
    const v1::Run run = Record(lines);
    EXPECT_EQ(run.outcome(), v1::OUTCOME_INVALID) << lines[lines.size() - 2];
    EXPECT_NE(run.reason(), "");
  }
  EXPECT_THAT(Record(cases[3]).reason(), HasSubstr("did you mean 'rate'?"));
  EXPECT_EQ(Record(cases[6]).reason(), "residual too large");
}

TEST_F(RunRecorderTest, TooManySeriesStopTheRun) {
  std::vector<std::string> lines;
  for (int i = 0; i < 1001; ++i) {
    lines.push_back(absl::StrCat(
        R"({"type":"metric","name":"rate","value":1,"unit":"GB/s","labels":{"device":"d)", i, R"("}})"));
  }
  const v1::Run run = Record(lines);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_FAILED);
  EXPECT_THAT(run.reason(), HasSubstr("more than 1000"));
  EXPECT_EQ(run.metrics_size(), 1000);
}

TEST_F(RunRecorderTest, WarnsOfWhatWasRepairedOrIgnored) {
  const v1::Run run = Record({kRate, "caf\xE9", R"({"type":"log","message":"x","later":1})", kDone});
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.warnings_size(), 2);
  EXPECT_THAT(run.log_tail(), HasSubstr("caf\xEF\xBF\xBD"));
}

TEST_F(RunRecorderTest, SpreadOfExtremeValuesIsFinite) {
  std::vector<std::string> lines;
  for (const char* value : {"1e308", "-1e308", "1e-300", "-1e308", "1e308", "5e-324"}) {
    lines.push_back(absl::StrCat(R"({"type":"sample","name":"rate","unit":"GB/s","value":)", value, "}"));
  }
  EXPECT_EQ(Record(lines).metrics_size(), 1);  // Record checks that the run is within the limits
}

// Whatever a plugin writes, the run may go on the wire.
TEST_F(RunRecorderTest, AnyLinesGiveARunWithinTheLimits) {
  manifest_.dynamic_metrics = true;
  std::mt19937 rng(7);
  const auto pick = [&rng](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  const std::vector<std::string> pieces = {kRate,
                                           kDone,
                                           "{",
                                           "}",
                                           "\"",
                                           ":",
                                           ",",
                                           "\xFF",
                                           "\x01",
                                           "\n",
                                           std::string(3000, 'y'),
                                           "\xE2\x82\xAC",
                                           "1e308",
                                           "-",
                                           R"({"type":"sample","name":"rate","unit":"GB/s","value":)",
                                           R"({"type":"event","message":")",
                                           R"({"type":"log","message":"\u0000\ud800)",
                                           R"({"type":"metric","name":")",
                                           R"("labels":{"a":"b"})",
                                           "\"}",
                                           R"(","value":1,"unit":"%"})",
                                           R"({"type":"invalid","message":")",
                                           std::string("\0", 1)};
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> lines(pick(60));
    for (std::string& line : lines) {
      for (size_t n = 1 + pick(5); n > 0; --n) line += pieces[pick(pieces.size())];
    }
    RunOutcome outcome;
    outcome.end = static_cast<RunEnd>(pick(11));
    outcome.exit_status = static_cast<int>(pick(256));
    Record(lines, outcome);
  }
}

TEST(LogTailTest, KeepsTheEndFromAWholeLine) {
  LogTail tail(100);
  for (int i = 0; i < 1000; ++i) tail.Add("line " + std::to_string(i));
  EXPECT_TRUE(tail.truncated());
  EXPECT_LE(tail.Text().size(), 100u);
  EXPECT_EQ(tail.Text().substr(0, 5), "line ");
  EXPECT_THAT(tail.Text(), testing::EndsWith("line 999\n"));
  EXPECT_EQ(tail.last_line(), "line 999");
}

TEST(LogTailTest, CutsNoCharacter) {
  LogTail tail(10);
  tail.Add("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(tail.Text(), "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\n");
  EXPECT_EQ(ClipUtf8("a\xE2\x82\xAC", 3), "a");
}

}  // namespace
}  // namespace fleetmark
