// What is to run: the node's own benchmarks, and a collector's plan beside them.
#include "agent/benchmark_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Benchmark Planned(const std::string& name, const std::string& plugin = "plain") {
  v1::Benchmark b;
  b.set_name(name);
  b.set_plugin(plugin);
  b.set_schedule("every 1h");
  b.set_suite("fleet");
  b.set_enabled(true);
  return b;
}

class BenchmarkSetTest : public ::testing::Test {
 protected:
  BenchmarkSetTest() {
    std::string pattern = testing::TempDir() + "fm_benchmarks_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    chmod(folder_.c_str(), 0755);  // also for the user that an agent which is root runs plugins as
    AddPlugin("plain", "");
    AddPlugin("shell", "local_only: true\n");
    AddPlugin("deep", "privileges: root\n");
    config_.node_name = "n1";
    if (geteuid() == 0) config_.plugin_user = "root";
    BenchmarkConfig own;
    own.benchmark = Planned("own");
    own.benchmark.set_suite("");
    own.where = "agent.yaml:6:5";
    config_.benchmarks.push_back(own);
    own_ = BenchmarkSet::Prepare(config_, Catalog::Load({folder_})).value();
  }
  ~BenchmarkSetTest() override { std::filesystem::remove_all(folder_); }

  void AddPlugin(const std::string& name, const std::string& extra) {
    const std::string plugin = absl::StrCat(folder_, "/", name);
    std::filesystem::create_directory(plugin);
    ASSERT_TRUE(ReplaceFile(plugin + "/run.sh", "#!/bin/sh\n").ok());
    chmod((plugin + "/run.sh").c_str(), 0755);
    ASSERT_TRUE(
        ReplaceFile(plugin + "/manifest.yaml",
                    absl::StrCat("api: 1\nname: ", name,
                                 "\nversion: \"1\"\nsummary: For this test.\ncommand: [./run.sh]\n",
                                 "timeout: 10s\nparams:\n  size: {type: int, default: 1, min: 1, max: "
                                 "9, summary: any}\nmetrics:\n  - {name: value, unit: \"1\", better: "
                                 "higher, noise: 0.01, summary: any}\n",
                                 extra))
            .ok());
  }

  absl::StatusOr<std::shared_ptr<const BenchmarkSet>> With(const std::vector<v1::Benchmark>& benchmarks) {
    v1::Plan plan;
    plan.set_version("p1");
    for (const v1::Benchmark& b : benchmarks) *plan.add_benchmarks() = b;
    return own_->WithPlan(config_, plan);
  }

  std::vector<std::string> FaultsOf(const std::vector<v1::Benchmark>& benchmarks) {
    const auto set = With(benchmarks);
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
    return absl::StrSplit(Message(set.status()), '\n');
  }

  std::vector<std::string> Names(const BenchmarkSet& set) {
    std::vector<std::string> names;
    for (const v1::Benchmark& b : set.Describe()) names.push_back(b.name());
    return names;
  }

  std::string folder_;
  AgentConfig config_;
  std::shared_ptr<const BenchmarkSet> own_;
};

TEST_F(BenchmarkSetTest, APlanRunsBesideTheNodesOwn) {
  v1::Benchmark planned = Planned("fleet");
  planned.set_params_json(R"({"size":3})");
  const auto set = With({planned});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(Names(**set), ElementsAre("own", "fleet"));
  EXPECT_EQ((*set)->Jobs().size(), 2u);
  ASSERT_NE((*set)->Find("fleet"), nullptr);
  EXPECT_EQ((*set)->Find("fleet")->benchmark.suite(), "fleet");
  EXPECT_THAT(Names(*own_), ElementsAre("own")) << "the node's own set is as it was";
}

TEST_F(BenchmarkSetTest, OfOneNameTheNodesOwnCounts) {
  v1::Benchmark other = Planned("own");
  other.set_schedule("every 5m");
  const auto set = With({other, Planned("fleet")});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(Names(**set), ElementsAre("own", "fleet"));
  EXPECT_EQ((*set)->Find("own")->benchmark.schedule(), "every 1h");
}

TEST_F(BenchmarkSetTest, WhatTheNodesOwnHidesIsNotLookedAt) {
  EXPECT_TRUE(With({Planned("own", "no-such-plugin")}).ok());
}

TEST_F(BenchmarkSetTest, AnEmptyPlanLeavesTheNodesOwn) {
  const auto set = With({});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(Names(**set), ElementsAre("own"));
}

TEST_F(BenchmarkSetTest, AFaultyPlanIsRefusedWholeWithAllItsFaults) {
  v1::Benchmark params = Planned("params");
  params.set_params_json(R"({"size":10})");
  v1::Benchmark digest = Planned("digest");
  digest.set_plugin_digest(std::string(64, '0'));
  v1::Benchmark schedule = Planned("schedule");
  schedule.set_schedule("sometimes");
  EXPECT_THAT(FaultsOf({Planned("good"), Planned("gone", "no-such-plugin"), params, digest, schedule}),
              ElementsAre(AllOf(HasSubstr("benchmark 'gone'"), HasSubstr("no-such-plugin")),
                          AllOf(HasSubstr("benchmark 'params'"), HasSubstr("size")),
                          AllOf(HasSubstr("benchmark 'digest'"), HasSubstr("not 000000")),
                          AllOf(HasSubstr("benchmark 'schedule'"), HasSubstr("sometimes"))));
}

TEST_F(BenchmarkSetTest, ANameIsUsedOnceInAPlan) {
  EXPECT_THAT(FaultsOf({Planned("twice"), Planned("twice")}),
              ElementsAre("benchmark 'twice': is there twice"));
}

TEST_F(BenchmarkSetTest, APluginThatRunsWhatItIsToldNeedsTheNodesLeave) {
  EXPECT_THAT(FaultsOf({Planned("any", "shell")}), ElementsAre(HasSubstr("plan.allow_plugins")));
  config_.plan_plugins = {"shell"};
  EXPECT_TRUE(With({Planned("any", "shell")}).ok());
}

TEST_F(BenchmarkSetTest, RootNeedsTheNodesLeave) {
  EXPECT_THAT(FaultsOf({Planned("any", "deep")}), ElementsAre(HasSubstr("plugins.allow_root")));
  config_.allow_root_plugins = true;
  EXPECT_TRUE(With({Planned("any", "deep")}).ok());
}

TEST_F(BenchmarkSetTest, ANodesBenchmarksAreBounded) {
  std::vector<v1::Benchmark> many;
  for (size_t i = 1; i < limits::kBenchmarksPerNode; ++i) many.push_back(Planned(absl::StrCat("b", i)));
  EXPECT_TRUE(With(many).ok());
  many.push_back(Planned("one-more"));
  EXPECT_THAT(FaultsOf(many), ElementsAre(HasSubstr("at most")));
}

TEST_F(BenchmarkSetTest, ADisabledBenchmarkOfAPlanRunsOnRequestOnly) {
  v1::Benchmark off = Planned("off");
  off.set_enabled(false);
  const auto set = With({off});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_FALSE((*set)->Find("off")->schedule.has_value());
}

}  // namespace
}  // namespace fleetmark::agent
