#include "agent/benchmark_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A node that has the plugin `probe`, and `shell`, whose parameters name programs.
class WithPlanTest : public testing::Test {
 protected:
  WithPlanTest() : root_(testing::TempDir() + "benchmark_set_test_" + std::to_string(getpid())) {
    fs::remove_all(root_);
    Install("probe", "");
    Install("shell", "local_only: true\n");
    config_.node_name = "n1";
    config_.plugin_user = geteuid() == 0 ? "root" : "";
    config_.benchmarks.push_back({Benchmark("own", "probe", "every 10m"), "agent.yaml:1:1"});
    auto own = BenchmarkSet::Prepare(config_, Catalog::Load({root_}));
    if (!own.ok()) ADD_FAILURE() << own.status();
    if (own.ok()) own_ = *own;
  }
  ~WithPlanTest() override { fs::remove_all(root_); }

  void Install(const std::string& name, const std::string& more) {
    fs::create_directories(root_ + "/" + name);
    std::ofstream(root_ + "/" + name + "/manifest.yaml")
        << "api: 1\nname: " << name << "\nversion: 1\nsummary: s\ncommand: [./run]\ndynamic_metrics: true\n"
        << more;
    std::ofstream(root_ + "/" + name + "/run") << "#!/bin/sh\n";
    chmod((root_ + "/" + name + "/run").c_str(), 0755);
  }

  static v1::Benchmark Benchmark(const std::string& name, const std::string& plugin,
                                 const std::string& schedule) {
    v1::Benchmark b;
    b.set_name(name);
    b.set_plugin(plugin);
    b.set_schedule(schedule);
    b.set_enabled(true);
    return b;
  }

  static v1::Plan Plan(const std::vector<v1::Benchmark>& benchmarks) {
    v1::Plan plan;
    plan.set_version("v1");
    for (const v1::Benchmark& b : benchmarks) *plan.add_benchmarks() = b;
    return plan;
  }

  std::string Refusal(const v1::Plan& plan) {
    const auto set = own_->WithPlan(config_, plan);
    return set.ok() ? "" : Message(set.status());
  }

  const std::string root_;
  AgentConfig config_;
  std::shared_ptr<const BenchmarkSet> own_;
};

TEST_F(WithPlanTest, TheNodesOwnCountsWhereBothHaveAName) {
  const auto set = own_->WithPlan(
      config_, Plan({Benchmark("own", "probe", "every 1h"), Benchmark("fleet", "probe", "every 2h")}));
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ((*set)->Describe().size(), 2u);
  EXPECT_EQ((*set)->Find("own")->benchmark.schedule(), "every 10m");
  EXPECT_EQ((*set)->Find("fleet")->benchmark.schedule(), "every 2h");
  EXPECT_EQ(own_->Find("fleet"), nullptr);
}

TEST_F(WithPlanTest, ADisabledOneIsThereWithoutATime) {
  v1::Benchmark off = Benchmark("off", "probe", "every 1h");
  off.set_enabled(false);
  const auto set = own_->WithPlan(config_, Plan({off}));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_FALSE((*set)->Find("off")->schedule.has_value());
}

TEST_F(WithPlanTest, IsRefusedWholeWithEveryFault) {
  const std::string why =
      Refusal(Plan({Benchmark("a", "absent", "every 1h"), Benchmark("b", "probe", "often"),
                    Benchmark("c", "probe", "every 1h"), Benchmark("c", "probe", "every 1h"),
                    Benchmark("d", "shell", "every 1h")}));
  EXPECT_THAT(why, HasSubstr("benchmark 'a': "));
  EXPECT_THAT(why, HasSubstr("benchmark 'b': "));
  EXPECT_THAT(why, HasSubstr("benchmark 'c': is there twice"));
  EXPECT_THAT(why, HasSubstr("benchmark 'd': plugin 'shell' runs what its parameters say"));
}

TEST_F(WithPlanTest, ProgramsInParametersAreTakenWhereTheNodeAllowsThem) {
  const v1::Plan plan = Plan({Benchmark("d", "shell", "every 1h")});
  EXPECT_NE(Refusal(plan), "");
  config_.plan_plugins.insert("shell");
  EXPECT_EQ(Refusal(plan), "");
}

}  // namespace
}  // namespace fleetmark::agent
