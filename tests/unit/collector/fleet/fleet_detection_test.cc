#include "collector/fleet/fleet_detection.h"

#include "gtest/gtest.h"

#include "fleet_fixture.h"

namespace fleetmark::collector {
namespace {

class FleetDetectionTest : public FleetFixture {};

TEST_F(FleetDetectionTest, AHealthyFleetHasNoAlert) {
  MakeFleet({.nodes = 60, .devices = 4});
  Live(72, 12);
  for (const v1::Finding& finding : Findings())
    EXPECT_FALSE(finding.budget().within()) << finding.DebugString();
}

TEST_F(FleetDetectionTest, ANodeThatIsSlowFromItsFirstDay) {
  MakeFleet({.nodes = 40, .devices = 4});
  fleet_->AddEffect([](const SimulatedRun& run) { return run.index == 17 ? 0.85 : 1; });
  Live(12);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_PEER);
  EXPECT_EQ(found[0].direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(found[0].scope(), "node n17");
  EXPECT_EQ(found[0].member_count(), 5u);  // stream, and gemm on four devices
  EXPECT_NEAR(found[0].change(), -0.15, 0.03);
  EXPECT_TRUE(found[0].budget().within());
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(FleetDetectionTest, OneGpuOfEightThatIsSlowFromItsFirstDay) {
  MakeFleet({.nodes = 20, .devices = 8});
  fleet_->AddEffect([](const SimulatedRun& run) { return run.index == 3 && run.device == "gpu5" ? 0.9 : 1; });
  Live(12);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_PEER);
  EXPECT_EQ(found[0].scope(), "device gpu5 of n3");
  EXPECT_EQ(found[0].series().labels().at("device"), "gpu5");
}

TEST_F(FleetDetectionTest, ARackThatIsSlowFromItsFirstDay) {
  MakeFleet({.nodes = 60});
  fleet_->AddEffect([](const SimulatedRun& run) { return run.index / 10 == 2 ? 0.93 : 1; });
  Live(12);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_PEER);
  EXPECT_EQ(found[0].scope(), "rack r2");
  EXPECT_EQ(found[0].member_count(), 10u);
}

TEST_F(FleetDetectionTest, AFirmwareThatMakesSomeNodesSlowFromTheirFirstDayIsNamed) {
  MakeFleet({.nodes = 60});
  for (size_t n : {4u, 15u, 26u, 37u, 48u}) {
    fleet_->SetFact(n, "hardware.bios", "2.7");
    fleet_->Register(n);
  }
  fleet_->AddEffect([](const SimulatedRun& run) { return run.index % 11 == 4 && run.index < 50 ? 0.85 : 1; });
  Live(12);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_PEER);
  EXPECT_EQ(found[0].scope(), "hardware.bios 2.7");
  EXPECT_EQ(found[0].member_count(), 5u);
  EXPECT_NE(found[0].explanation().find("5 of 5 nodes with hardware.bios 2.7, 0 of 55 others"),
            std::string::npos);
}

TEST_F(FleetDetectionTest, AClassOfTwoSortsIsReportedInsteadOfHalfOfIt) {
  MakeFleet({.nodes = 40});
  for (size_t n = 0; n < 40; n += 2) {
    fleet_->SetFact(n, "memory.modules", "8x 16 GiB");
    fleet_->Register(n);
  }
  fleet_->AddEffect([](const SimulatedRun& run) { return run.index % 2 == 0 ? 0.6 : 1; });
  Live(12);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].detector(), "fleet.classes");
  EXPECT_EQ(found[0].direction(), v1::Finding::DIRECTION_NEUTRAL);
  EXPECT_EQ(found[0].explanations(0).attribute(), "memory.modules");
  EXPECT_FALSE(found[0].budget().within());  // a remark, no alert
}

TEST_F(FleetDetectionTest, ADriverThatSlowsATenthOfTheFleetByThreePercent) {
  MakeFleet({.nodes = 60, .devices = 2});
  Live(48, 12);
  const absl::Time update = clock_.Now();
  for (size_t n = 5; n < 60; n += 10) {
    fleet_->ChangeFact(n, "gpu0.driver", "570.124", update);
    fleet_->ChangeFact(n, "gpu1.driver", "570.124", update);
  }
  fleet_->AddEffect([update](const SimulatedRun& run) {
    return run.index % 10 == 5 && run.benchmark == "gemm" && run.time >= update ? 0.97 : 1;
  });
  Live(24);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_FLEET);
  EXPECT_EQ(found[0].scope(), "gpu.driver 570.124");
  EXPECT_EQ(found[0].explanation(), "6 of 6 nodes with gpu.driver 570.124, 0 of 54 others");
  EXPECT_EQ(found[0].member_count(), 12u);
  EXPECT_NEAR(found[0].change(), -0.03, 0.006);
  EXPECT_TRUE(found[0].budget().within());
  EXPECT_EQ(found[0].events_size(), 2);  // the driver of gpu0 and of gpu1, each once
  EXPECT_EQ(store_->Counts()->open_findings, 1u);
  // Each member points to it.
  size_t members = 0;
  for (const v1::Finding& finding : Findings(false)) {
    if (finding.group_id() == found[0].finding_id()) ++members;
  }
  EXPECT_EQ(members, 12u);
}

TEST_F(FleetDetectionTest, ARackThatBecomesSlowAndRecovers) {
  MakeFleet({.nodes = 50});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  absl::Time end = absl::InfiniteFuture();
  fleet_->AddEffect([&](const SimulatedRun& run) {
    return run.index / 10 == 3 && run.time >= begin && run.time < end ? 0.92 : 1;
  });
  Live(16);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_FLEET);
  EXPECT_EQ(found[0].explanation(), "10 of 10 nodes with rack r3, 0 of 40 others");
  Restart();
  end = clock_.Now();
  Live(24);
  EXPECT_TRUE(Findings().empty()) << Text(Findings());
  size_t closed_groups = 0;
  for (const v1::Finding& finding : Findings(true, false)) {
    if (finding.kind() == v1::Finding::KIND_FLEET) ++closed_groups;
  }
  EXPECT_EQ(closed_groups, 1u);
}

TEST_F(FleetDetectionTest, OneGpuOfEightThatBeginsToThrottleIsOneFinding) {
  MakeFleet({.nodes = 12, .devices = 8});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  fleet_->AddEffect([begin](const SimulatedRun& run) {
    return run.index == 7 && run.device == "gpu2" && run.time >= begin ? 0.8 : 1;
  });
  Live(16);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_CHANGE);
  EXPECT_EQ(found[0].series().node(), "n7");
  EXPECT_EQ(found[0].series().labels().at("device"), "gpu2");
  EXPECT_TRUE(found[0].budget().within());
}

TEST_F(FleetDetectionTest, ANodeThatBecomesSlowInAllItsSeriesIsOneFinding) {
  MakeFleet({.nodes = 12, .devices = 4});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  fleet_->AddEffect(
      [begin](const SimulatedRun& run) { return run.index == 7 && run.time >= begin ? 0.85 : 1; });
  Live(16);
  const std::vector<v1::Finding> found = Findings();
  ASSERT_EQ(found.size(), 1u) << Text(found);
  EXPECT_EQ(found[0].kind(), v1::Finding::KIND_CHANGE);
  EXPECT_EQ(found[0].scope(), "node n7");
  EXPECT_EQ(found[0].member_count(), 5u);
}

TEST_F(FleetDetectionTest, ANewPluginVersionBeginsNewSeriesAndIsNoFinding) {
  MakeFleet({.nodes = 20});
  Live(40, 20);
  const absl::Time upgrade = clock_.Now();
  fleet_->SetPluginVersion("2.0");
  fleet_->AddEffect([upgrade](const SimulatedRun& run) { return run.time >= upgrade ? 0.7 : 1; });
  Live(24);
  EXPECT_TRUE(Findings(false, false).empty()) << Text(Findings(false, false));
}

TEST_F(FleetDetectionTest, AsksTheSuspectAndAHealthyPeerToRunAgain) {
  false_alarms_per_week_ = 1e-3;  // so that the first look is not enough
  MakeFleet({.nodes = 12, .noise = 0.01});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  fleet_->AddEffect(
      [begin](const SimulatedRun& run) { return run.index == 7 && run.time >= begin ? 0.94 : 1; });
  for (int hour = 0; hour < 30 && requests_.empty(); ++hour) Live(1, 1);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[0].node(), "n7");
  EXPECT_EQ(requests_[0].benchmark(), "stream");
  EXPECT_NE(requests_[1].node(), "n7");
  ASSERT_EQ(Findings().size(), 1u) << Text(Findings());
  EXPECT_EQ(Findings()[0].confirmation().state(), v1::Confirmation::STATE_PENDING);
  EXPECT_FALSE(Findings()[0].budget().within());
  for (int round = 0; round < 6 && !Findings()[0].budget().within(); ++round) {
    for (const v1::RunNowRequest& request : requests_) {
      fleet_->RunNow(request.node(), request.benchmark(), clock_.Now());
    }
    requests_.clear();
    clock_.Advance(absl::Minutes(6));
    Look();
  }
  EXPECT_TRUE(Findings()[0].budget().within()) << Findings()[0].DebugString();
  EXPECT_EQ(Findings()[0].confirmation().state(), v1::Confirmation::STATE_CONFIRMED);
  EXPECT_GE(Findings()[0].confirmation().peer_reruns(), 1u);
}

TEST_F(FleetDetectionTest, AFleetShiftAsksNobody) {
  MakeFleet({.nodes = 50});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  fleet_->AddEffect(
      [begin](const SimulatedRun& run) { return run.index / 10 == 3 && run.time >= begin ? 0.92 : 1; });
  Live(16, 16);
  ASSERT_EQ(Findings().size(), 1u) << Text(Findings());
  EXPECT_TRUE(requests_.empty());
}

TEST_F(FleetDetectionTest, AChangeThatWentAwayIsRefuted) {
  MakeFleet({.nodes = 12});
  Live(40, 20);
  const absl::Time begin = clock_.Now();
  absl::Time end = absl::InfiniteFuture();
  fleet_->AddEffect([&](const SimulatedRun& run) {
    return run.index == 7 && run.time >= begin && run.time < end ? 0.9 : 1;
  });
  Live(4, 4);
  ASSERT_EQ(Findings().size(), 1u) << Text(Findings());
  EXPECT_TRUE(Findings()[0].budget().within());
  ASSERT_FALSE(requests_.empty());
  end = clock_.Now();
  for (int i = 0; i < 4; ++i) {
    fleet_->RunNow("n7", "stream", clock_.Now());
    clock_.Advance(absl::Minutes(6));
  }
  ASSERT_TRUE(fleet_detection_->RunOnce().ok());  // before the series' own detection sees that it is back
  EXPECT_FALSE(Findings()[0].budget().within());
  EXPECT_EQ(Findings()[0].confirmation().state(), v1::Confirmation::STATE_REFUTED);
}

}  // namespace
}  // namespace fleetmark::collector
