#include "common/run/plugin_run.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "common/base/ulid.h"
#include "common/model/series.h"
#include "common/run/check.h"
#include "tests/unit/common/run/run_fixture.h"

namespace fleetmark {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr char kManifest[] = R"(
api: 1
name: evil
version: "1.2"
summary: misbehaves
command: [./program]
params:
  size: {type: bytes, default: 1MiB, summary: how much}
  fast: {type: bool, default: true, summary: whether}
metrics:
  - {name: rate, unit: GB/s, better: higher}
)";

class PluginRunTest : public RunFixture {
 protected:
  PluginRunTest() { std::filesystem::create_directories(folder_ + "/work"); }

  // Installs a plugin whose program is the shell script `script`.
  std::string Install(const std::string& script, const std::string& manifest = kManifest) {
    const std::string plugin = folder_ + "/evil";
    std::filesystem::create_directories(plugin);
    std::ofstream(plugin + "/manifest.yaml") << manifest;
    std::ofstream(plugin + "/program") << "#!/bin/sh\n" << script;
    chmod((plugin + "/program").c_str(), 0755);
    return plugin;
  }

  PluginRunSpec Spec(const std::string& folder) {
    PluginRunSpec spec;
    absl::StatusOr<InstalledPlugin> plugin = LoadPlugin(folder);
    EXPECT_TRUE(plugin.ok()) << plugin.status();
    spec.params = *ResolveParams(plugin->manifest, "{}");
    spec.plugin = *std::move(plugin);
    spec.benchmark = "evil_one";
    spec.run_id = NewUlid(absl::Now());
    spec.scheduled = absl::Now();
    spec.timeout = absl::Seconds(20);
    spec.term_grace = absl::Milliseconds(100);
    spec.work_root = folder_ + "/work";
    return spec;
  }

  v1::Run RunOne(const PluginRunSpec& spec) {
    v1::Run run =
        RunPlugin(spec, runner_, RealClock(), cancel_, [this](double fraction, std::string_view message) {
          progress_.push_back(absl::StrCat(fraction, " ", std::string(message)));
        });
    EXPECT_TRUE(CheckRun(run).ok()) << CheckRun(run);
    EXPECT_TRUE(std::filesystem::is_empty(spec.work_root));
    return run;
  }

  v1::Run RunEvil(const std::string& mode, const std::string& argument = "") {
    return RunOne(
        Spec(Install(absl::StrCat("exec ", FM_EVIL_PLUGIN, " ", mode, " '", argument, "' ", marker_, "\n"))));
  }

  std::vector<std::string> progress_;
};

TEST_F(PluginRunTest, GoodRunIsComplete) {
  const v1::Run run = RunOne(Spec(Install(R"(
echo '{"type":"progress","fraction":0.25,"message":"warm"}'
echo "to the log" >&2
touch in_the_work_folder
echo '{"type":"event","message":"clock changed"}'
echo '{"type":"metric","name":"rate","value":2.5,"unit":"GB/s"}'
echo '{"type":"done"}'
)")));
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK) << run.reason();
  EXPECT_EQ(run.plugin(), "evil");
  EXPECT_EQ(run.plugin_version(), "1.2");
  EXPECT_EQ(run.params_json(), R"({"fast":true,"size":1048576})");
  EXPECT_EQ(run.params_digest().size(), 16u);
  EXPECT_EQ(run.metrics_size(), 1);
  EXPECT_EQ(run.notes(0), "clock changed");
  EXPECT_EQ(run.log_tail(), "to the log\n");
  EXPECT_GT(run.started_unix_ns(), 0);
  EXPECT_GT(run.duration_seconds(), 0);
  EXPECT_GT(run.usage().max_rss_bytes(), 0);
  EXPECT_TRUE(run.conditions().contains("cpus_allowed"));
  EXPECT_THAT(progress_, Contains("0.25 warm"));
}

TEST_F(PluginRunTest, CallIsAsDocumented) {
  PluginRunSpec spec = Spec(Install("cat; env; exit 3\n"));
  spec.cpus = {0};
  spec.devices = {"gpu0", "gpu1"};
  const v1::Run run = RunOne(spec);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_FAILED);
  for (const char* text :
       {R"("api":1)", R"("benchmark":"evil_one")", R"("cpus":[0])", R"("devices":["gpu0","gpu1"])",
        R"("size":1048576)", R"("fast":true)", R"("deadline_unix_ns":")", R"("peers":[])",
        "FLEETMARK_API=1\n", "FLEETMARK_CPUS=0\n", "FLEETMARK_DEVICES=gpu0,gpu1\n",
        "FLEETMARK_PARAM_SIZE=1048576\n", "FLEETMARK_PARAM_FAST=true\n", "LANG=C.UTF-8\n", "/evil\n"}) {
    // The object is a line that begins with '{' and no line of the protocol; it is in the log all the same.
    EXPECT_THAT(run.log_tail(), HasSubstr(text));
  }
}

TEST_F(PluginRunTest, EvilOnesGetTheirOutcome) {
  struct Case {
    const char* mode;
    const char* argument;
    v1::Outcome outcome;
    const char* reason;
  };
  for (const Case& c : {
           Case{"good", "", v1::OUTCOME_OK, ""},
           Case{"binary", "", v1::OUTCOME_OK, ""},
           Case{"daemon", "", v1::OUTCOME_OK, ""},
           Case{"stderr_flood", "", v1::OUTCOME_OK, ""},
           Case{"no_done", "", v1::OUTCOME_FAILED, "without 'done'"},
           Case{"many_lines", "", v1::OUTCOME_FAILED, "20000 lines"},
           Case{"endless_line", "", v1::OUTCOME_FAILED, "64KiB"},
           Case{"flood", "", v1::OUTCOME_FAILED, "16MiB"},
           Case{"signal", "11", v1::OUTCOME_FAILED, "signal 11"},
           Case{"say_exit", "77", v1::OUTCOME_SKIPPED, "the last words"},
           Case{"say_exit", "78", v1::OUTCOME_FAILED, "wrong parameters: the last words"},
           Case{"say_exit", "75", v1::OUTCOME_SKIPPED, "try again later: the last words"},
           Case{"say", R"({"type":"metric","name":"rate","value":"1.5","unit":"GB/s"})", v1::OUTCOME_INVALID,
                "without quotes"},
           Case{"say", R"({"type":"metric","name":"rate","value":NaN,"unit":"GB/s"})", v1::OUTCOME_INVALID,
                "finite"},
           Case{"say", R"({"type":"metric","name":"rate","value":1e999,"unit":"GB/s"})", v1::OUTCOME_INVALID,
                "not finite"},
       }) {
    const v1::Run run = RunEvil(c.mode, c.argument);
    EXPECT_EQ(run.outcome(), c.outcome) << c.mode << " " << c.argument << ": " << run.reason();
    EXPECT_THAT(run.reason(), HasSubstr(c.reason)) << c.mode;
  }
}

TEST_F(PluginRunTest, TimeLimitIsAnOutcome) {
  PluginRunSpec spec =
      Spec(Install(absl::StrCat("exec ", FM_EVIL_PLUGIN, " daemon_hang '' ", marker_, "\n")));
  spec.timeout = absl::Milliseconds(300);
  const v1::Run run = RunOne(spec);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_THAT(run.reason(), HasSubstr("300ms"));
}

TEST_F(PluginRunTest, CannotStartIsAFailedRun) {
  PluginRunSpec spec = Spec(Install("exit 0\n"));
  std::ofstream(spec.plugin.program) << "#!/nowhere/interpreter\n";
  v1::Run run = RunOne(spec);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_FAILED);
  EXPECT_EQ(run.started_unix_ns(), 0);
  EXPECT_THAT(run.reason(), HasSubstr("not started"));
  spec.run_id = NewUlid(absl::Now());
  spec.work_root = folder_ + "/work";
  std::filesystem::create_directories(spec.work_root + "/" + spec.run_id);
  run = RunPlugin(spec, runner_, RealClock(), cancel_, [](double, std::string_view) {});
  EXPECT_THAT(run.reason(), HasSubstr("make working folder"));
}

TEST_F(PluginRunTest, CheckOfAGoodPluginShowsItsMetrics) {
  const std::string plugin = Install(R"(
echo '{"type":"sample","name":"rate","value":2.5,"unit":"GB/s"}'
echo '{"type":"done"}'
)");
  const PluginCheck check = CheckPlugin(plugin, folder_ + "/work", runner_, RealClock(), cancel_);
  EXPECT_TRUE(check.ok());
  EXPECT_THAT(check.lines,
              Contains(testing::Field(&PluginCheck::Line::text, HasSubstr("metric rate = 2.5 GB/s"))));
}

TEST_F(PluginRunTest, CheckTeaches) {
  PluginCheck check = CheckPlugin(Install("echo '{\"type\":\"metric\"}'\n"), folder_ + "/work", runner_,
                                  RealClock(), cancel_);
  EXPECT_FALSE(check.ok());
  EXPECT_THAT(check.lines.back().text, HasSubstr("the last line must be {\"type\":\"done\"}"));
  check = CheckPlugin(Install("exit 0\n", "api: 2\nname: evil\nvresion: x\n"), folder_ + "/work", runner_,
                      RealClock(), cancel_);
  EXPECT_FALSE(check.ok());
  EXPECT_GT(check.lines.size(), 3u);  // every fault at once
  EXPECT_THAT(check.lines,
              Contains(testing::Field(&PluginCheck::Line::text, HasSubstr("did you mean 'version'?"))));
}

}  // namespace
}  // namespace fleetmark
