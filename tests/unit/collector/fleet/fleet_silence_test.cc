// Silence and failures, from the store to findings.
#include "gtest/gtest.h"

#include "fleet_fixture.h"

namespace fleetmark::collector {
namespace {

class FleetSilenceTest : public FleetFixture {};

TEST_F(FleetSilenceTest, ARackWhoseAgentsAreGoneIsOneFinding) {
  MakeFleet({.nodes = 40});
  Live(8);
  gone_since_ = clock_.Now();
  for (size_t n = 20; n < 30; ++n) gone_.insert(FleetSimulator::Name(n));
  clock_.Advance(absl::Minutes(20));
  Look();
  std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_SILENCE);
  EXPECT_EQ(found[0].scope(), "rack r2");
  EXPECT_EQ(found[0].explanation(),
            "the agents of 10 nodes went at the same time; 10 of 10 nodes with rack r2, 0 of 30 others");
  EXPECT_TRUE(found[0].budget().within());
  Look();
  EXPECT_EQ(told_.size(), 1u);
  gone_.clear();
  Look();
  EXPECT_TRUE(Findings().empty());
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(FleetSilenceTest, ABenchmarkWithoutResults) {
  MakeFleet({.nodes = 10});
  Live(8);
  fleet_->SetMissing([](const SimulatedRun& run) { return run.index == 4; });
  Live(8);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_SILENCE);
  EXPECT_EQ(found[0].series().node(), "n4");
  EXPECT_EQ(found[0].series().benchmark(), "stream");
  fleet_->SetMissing(nullptr);
  Live(4);
  EXPECT_TRUE(Findings().empty()) << Text(Findings());
}

TEST_F(FleetSilenceTest, ARestartOfTheCollectorIsNoSilence) {
  MakeFleet({.nodes = 10});
  Live(8);
  clock_.Advance(absl::Hours(30));  // the collector was down; agents kept their results
  Restart();
  Look();
  EXPECT_TRUE(Findings().empty()) << Text(Findings());
}

TEST_F(FleetSilenceTest, ABenchmarkThatFailsOnTheNodesWithOneKernelIsOneFinding) {
  MakeFleet({.nodes = 20});
  Live(40, 20);
  for (size_t n = 0; n < 20; n += 4) fleet_->ChangeFact(n, "kernel.release", "6.6", clock_.Now());
  const absl::Time update = clock_.Now();
  fleet_->SetOutcome([update](const SimulatedRun& run) {
    return run.index % 4 == 0 && run.time >= update ? v1::OUTCOME_FAILED : v1::OUTCOME_OK;
  });
  Live(12);
  std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_FAILURE);
  EXPECT_EQ(found[0].scope(), "kernel.release 6.6");
  EXPECT_EQ(found[0].member_count(), 5u);
  Restart();
  Look();
  EXPECT_EQ(Findings().size(), 1u);
  fleet_->SetOutcome(nullptr);
  Live(8);
  EXPECT_TRUE(Findings().empty()) << Text(Findings());
}

TEST_F(FleetSilenceTest, RunsThatTakeLonger) {
  MakeFleet({.nodes = 10});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  fleet_->SetDuration([begin](const SimulatedRun& run) {
    const double seconds = 20 + 0.01 * static_cast<double>(absl::ToUnixSeconds(run.time) % 97);
    return run.index == 6 && run.time >= begin ? 1.6 * seconds : seconds;
  });
  Live(16);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_FAILURE);
  EXPECT_EQ(found[0].series().metric(), "run_time");
  EXPECT_EQ(found[0].series().node(), "n6");
  EXPECT_NEAR(found[0].change(), 0.6, 0.05);
}

}  // namespace
}  // namespace fleetmark::collector
