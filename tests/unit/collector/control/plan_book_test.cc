#include "collector/control/plan_book.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Suite MakeSuite(const std::string& name, const Labels& labels, const std::vector<std::string>& benchmarks) {
  Suite suite;
  suite.name = name;
  suite.node_labels = labels;
  for (const std::string& b : benchmarks) {
    BenchmarkConfig config;
    config.benchmark.set_name(b);
    config.benchmark.set_suite(name);
    suite.benchmarks.push_back(config);
  }
  return suite;
}

std::vector<std::string> Names(const v1::Plan& plan) {
  std::vector<std::string> names;
  for (const v1::Benchmark& b : plan.benchmarks()) names.push_back(b.suite() + "/" + b.name());
  return names;
}

// What a node that connects now is sent.
v1::Plan PlanFor(PlanBook& book, const std::string& node, const Labels& labels) {
  constexpr uint64_t kSession = 1'000;
  v1::Plan plan;
  book.Connected(kSession, node, labels, "", [&](const v1::CollectorMessage& message) {
    plan = message.plan();
    return true;
  });
  book.Disconnected(kSession);
  return plan;
}

class PlanBookTest : public testing::Test {
 protected:
  PlanBook::Send Take() {
    return [this](const v1::CollectorMessage& message) {
      sent_.push_back(message.plan());
      return true;
    };
  }

  const Labels gpu_{{"class", "gpu"}};
  const Labels cpu_{{"class", "cpu"}};
  PlanBook book_{
      {MakeSuite("all", {}, {"stream"}), MakeSuite("gpu", {{"class", "gpu"}}, {"gemm", "stream"})}};
  std::vector<v1::Plan> sent_;
};

TEST_F(PlanBookTest, TheEarlierSuiteCountsWhereTwoHaveABenchmarkOfOneName) {
  EXPECT_THAT(Names(PlanFor(book_, "n1", gpu_)), ElementsAre("all/stream", "gpu/gemm"));
  EXPECT_THAT(Names(PlanFor(book_, "n1", cpu_)), ElementsAre("all/stream"));
}

TEST_F(PlanBookTest, SelectsByNameToo) {
  Suite suite = MakeSuite("rack", {}, {"disk"});
  suite.node_names = {"r1-*", "login"};
  PlanBook book({suite});
  EXPECT_THAT(Names(PlanFor(book, "r1-07", {})), ElementsAre("rack/disk"));
  EXPECT_THAT(Names(PlanFor(book, "login", {})), ElementsAre("rack/disk"));
  EXPECT_THAT(Names(PlanFor(book, "login2", {})), IsEmpty());
}

TEST_F(PlanBookTest, APlanThatTheAgentHasIsNotSentAgain) {
  const std::string version = PlanFor(book_, "n1", gpu_).version();
  EXPECT_EQ(version.size(), 16u);
  book_.Connected(1, "n1", gpu_, version, Take());
  EXPECT_THAT(sent_, IsEmpty());
  book_.Connected(2, "n2", cpu_, version, Take());
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_THAT(Names(sent_[0]), ElementsAre("all/stream"));
}

TEST_F(PlanBookTest, WithoutSuitesAgentsKeepWhatTheyHave) {
  PlanBook none({});
  none.Connected(1, "n1", gpu_, "something", Take());
  EXPECT_THAT(sent_, IsEmpty());
  none.Replace({});
  EXPECT_THAT(sent_, IsEmpty()) << "nor at a reload";
}

TEST_F(PlanBookTest, AReloadSendsToTheNodesWhosePlanChanges) {
  book_.Connected(1, "n1", gpu_, "", Take());
  book_.Connected(2, "n2", cpu_, "", Take());
  book_.Connected(3, "n3", cpu_, "", Take());
  book_.Disconnected(3);
  sent_.clear();
  book_.Replace({MakeSuite("all", {}, {"stream"})});
  ASSERT_EQ(sent_.size(), 1u) << "n2's is as it was";
  EXPECT_THAT(Names(sent_[0]), ElementsAre("all/stream"));
  book_.Replace({});
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_THAT(Names(sent_[2]), IsEmpty());
}

TEST_F(PlanBookTest, TellsWhatTheNodeMadeOfItsPlan) {
  book_.Connected(1, "n1", gpu_, "", Take());
  v1::PlanStatus status;
  status.set_plan_version(sent_[0].version());
  status.add_problems("no plugin 'gemm'");
  book_.OnStatus(1, status);
  v1::Node node;
  node.mutable_identity()->set_name("n1");
  book_.FillLive(&node);
  EXPECT_FALSE(node.plan().accepted());
  EXPECT_EQ(node.plan().problems(0), "no plugin 'gemm'");
  // An older session of the node ends after the newer one began.
  book_.Connected(2, "n1", gpu_, sent_[0].version(), Take());
  book_.Disconnected(1);
  book_.FillLive(&node);
  EXPECT_TRUE(node.plan().accepted());
}

}  // namespace
}  // namespace fleetmark::collector
