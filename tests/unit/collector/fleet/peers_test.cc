#include "collector/fleet/peers.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

// Nodes in racks of ten with `devices` GPUs; levels differ from node to node by 1.7 % and inside a node by
// 0.3 %, as those of a real fleet of GPUs do.
class FleetOfPeers {
 public:
  FleetOfPeers(size_t nodes, size_t devices, uint32_t seed, double node_spread = 0.017) : random_(seed) {
    std::normal_distribution<double> normal;
    for (size_t n = 0; n < nodes; ++n) {
      const double node = node_spread * normal(random_);
      for (size_t d = 0; d < devices; ++d) {
        units.push_back({"r" + std::to_string(n / 10), "n" + std::to_string(n),
                         devices > 1 ? "gpu" + std::to_string(d) : "", 4.6 + node + 0.003 * normal(random_),
                         0.0005});
      }
    }
  }
  void Slow(const std::string& rack, const std::string& node, const std::string& device, double by) {
    for (PeerUnit& unit : units) {
      if ((rack.empty() || unit.rack == rack) && (node.empty() || unit.node == node) &&
          (device.empty() || unit.device == device)) {
        unit.level += by;
      }
    }
  }
  std::vector<PeerUnit> units;

 private:
  std::mt19937 random_;
};

constexpr double kLimit = 1e-6;

TEST(ComparePeers, FindsANodeFiveSpreadsAwayFromItsFirstDay) {
  int found = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    FleetOfPeers fleet(400, 1, seed);
    for (PeerUnit& unit : fleet.units) {
      if (unit.node == "n7") unit.level = 4.6 + 0.10;  // 5.8 spreads
    }
    const PeerComparison result = ComparePeers(fleet.units, kLimit);
    for (const PeerOutlier& outlier : result.outliers) {
      if (fleet.units[outlier.units[0]].node == "n7") ++found;
    }
  }
  EXPECT_GE(found, 196);
}

TEST(ComparePeers, HealthyFleetsAreQuiet) {
  size_t false_ones = 0, tests = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const FleetOfPeers fleet(200, 4, seed);
    false_ones += ComparePeers(fleet.units, 1e-5).outliers.size();
    tests += fleet.units.size() + 200 + 20;
  }
  EXPECT_LE(static_cast<double>(false_ones), 3 + 2e-5 * static_cast<double>(tests));
}

TEST(ComparePeers, OneDeviceOfEight) {
  FleetOfPeers fleet(60, 8, 1);
  fleet.Slow("", "n12", "gpu3", 0.04);  // 2.4 spreads of nodes, but 13 of devices inside a node
  const PeerComparison result = ComparePeers(fleet.units, kLimit);
  ASSERT_EQ(result.outliers.size(), 1u);
  EXPECT_EQ(result.outliers[0].scope, PeerScope::kDevice);
  ASSERT_EQ(result.outliers[0].units.size(), 1u);
  EXPECT_EQ(fleet.units[result.outliers[0].units[0]].device, "gpu3");
  EXPECT_EQ(result.outliers[0].peer_count, 7u);
  EXPECT_NEAR(result.outliers[0].level - result.outliers[0].peers, 0.04, 0.01);
}

TEST(ComparePeers, OneDeviceOfASingleNode) {
  FleetOfPeers fleet(1, 8, 3);
  fleet.Slow("", "n0", "gpu3", 0.2);
  const PeerComparison result = ComparePeers(fleet.units, 1e-3);
  ASSERT_EQ(result.outliers.size(), 1u);
  EXPECT_EQ(result.outliers[0].scope, PeerScope::kDevice);
}

TEST(ComparePeers, ASlowNodeIsOneNodeAndNotItsDevices) {
  FleetOfPeers fleet(60, 8, 2);
  fleet.Slow("", "n12", "", 0.2);
  const PeerComparison result = ComparePeers(fleet.units, kLimit);
  ASSERT_EQ(result.outliers.size(), 1u);
  EXPECT_EQ(result.outliers[0].scope, PeerScope::kNode);
  EXPECT_EQ(result.outliers[0].units.size(), 8u);
}

TEST(ComparePeers, ASlowRackIsOneRackAndNotItsNodes) {
  for (const size_t nodes : {50u, 100u, 400u}) {
    FleetOfPeers fleet(nodes, 1, 5);
    fleet.Slow("r2", "", "", 0.08);
    const PeerComparison result = ComparePeers(fleet.units, kLimit);
    ASSERT_EQ(result.outliers.size(), 1u) << nodes;
    EXPECT_EQ(result.outliers[0].scope, PeerScope::kRack);
    EXPECT_EQ(result.outliers[0].units.size(), 10u);
    EXPECT_FALSE(result.split.has_value());
  }
}

TEST(ComparePeers, ASlowNodeInASlowRackStandsOutFromItsRack) {
  FleetOfPeers fleet(100, 1, 6, 0.004);
  fleet.Slow("r2", "", "", 0.05);
  fleet.Slow("", "n23", "", 0.4);
  const PeerComparison result = ComparePeers(fleet.units, 1e-3);
  ASSERT_EQ(result.outliers.size(), 2u);
  EXPECT_EQ(result.outliers[0].scope, PeerScope::kRack);
  EXPECT_EQ(result.outliers[1].scope, PeerScope::kNode);
  EXPECT_NEAR(result.outliers[1].peers, 4.65, 0.01);
}

TEST(ComparePeers, WhatTheWholeClassSharesCancels) {
  FleetOfPeers fleet(60, 4, 7);
  const size_t before = ComparePeers(fleet.units, 1e-3).outliers.size();
  fleet.Slow("", "", "", 0.5);
  EXPECT_EQ(ComparePeers(fleet.units, 1e-3).outliers.size(), before);
}

TEST(ComparePeers, FasterOnesAreNoOutliers) {
  FleetOfPeers fleet(60, 1, 8);
  fleet.Slow("", "n3", "", -0.5);
  EXPECT_TRUE(ComparePeers(fleet.units, kLimit).outliers.empty());
}

TEST(ComparePeers, WhatDoesNotMatterIsNotTold) {
  FleetOfPeers fleet(60, 1, 9, 0);
  for (PeerUnit& unit : fleet.units) unit.level = 4.6;
  fleet.Slow("", "n3", "", 0.009);
  EXPECT_TRUE(ComparePeers(fleet.units, 0.05).outliers.empty());
}

TEST(ComparePeers, TwoSortsOfNodeAreToldAndHalfOfThemIsNotFlagged) {
  FleetOfPeers fleet(60, 2, 10, 0.005);
  for (PeerUnit& unit : fleet.units) {
    if (std::stoi(unit.node.substr(1)) % 2 == 0) unit.level += 0.2;
  }
  fleet.Slow("", "n4", "", 0.1);  // slow even for its sort
  const PeerComparison result = ComparePeers(fleet.units, kLimit);
  ASSERT_TRUE(result.split.has_value());
  EXPECT_EQ(result.split->low_nodes, 30u);
  EXPECT_EQ(result.split->high_nodes, 30u);
  EXPECT_NEAR(result.split->high - result.split->low, 0.2, 0.01);
  ASSERT_EQ(result.outliers.size(), 1u);
  EXPECT_EQ(fleet.units[result.outliers[0].units[0]].node, "n4");
}

TEST(SplitInTwo, OneSortIsNotSplit) {
  int split = 0;
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> student(3);
  std::gamma_distribution<double> gamma(2);
  for (const size_t n : {8u, 10u, 15u, 30u, 100u, 1000u}) {
    for (int repeat = 0; repeat < 500; ++repeat) {
      std::vector<double> a, b, c;
      for (size_t i = 0; i < n; ++i) {
        a.push_back(4 + 0.05 * normal(random));
        b.push_back(4 + 0.05 * student(random));
        c.push_back(4 + 0.05 * gamma(random));
      }
      for (std::vector<double>* levels : {&a, &b, &c}) {
        std::sort(levels->begin(), levels->end());
        if (SplitInTwo(*levels) > 0) ++split;
      }
    }
  }
  EXPECT_LE(split, 18);  // of 9,000
}

}  // namespace
}  // namespace fleetmark::collector
