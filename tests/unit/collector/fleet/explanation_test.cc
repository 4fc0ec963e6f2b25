#include "collector/fleet/explanation.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

struct Fleet {
  std::vector<Attributes> attributes;
  std::vector<bool> changed;
  std::set<std::string> fresh;  // of all changed nodes
  std::vector<v1::Explanation> Explained(double max_p = 0.01) const {
    std::vector<ExplainedUnit> units;
    for (size_t i = 0; i < attributes.size(); ++i) {
      units.push_back({&attributes[i], changed[i], changed[i] ? &fresh : nullptr});
    }
    return Explain(units, "node", max_p, 5);
  }
};

// 204 nodes in racks of 12; the first 24 have another driver.
Fleet DriverFleet() {
  Fleet fleet;
  for (int i = 0; i < 204; ++i) {
    fleet.attributes.push_back({{"gpu.driver", i < 24 ? "570.124" : "550.90"},
                                {"rack", "r" + std::to_string(i % 17)},
                                {"kernel.release", i % 2 == 0 ? "6.1" : "6.6"},
                                {"os.release", "12"}});
    fleet.changed.push_back(i < 23);
  }
  return fleet;
}

TEST(Explain, FindsTheDriver) {
  const std::vector<v1::Explanation> found = DriverFleet().Explained();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(ExplanationText(found[0]), "23 of 24 nodes with gpu.driver 570.124, 0 of 180 others");
  EXPECT_LT(found[0].p_value(), 1e-25);
}

TEST(Explain, SaysNothingWhereNothingSeparates) {
  Fleet fleet = DriverFleet();
  for (size_t i = 0; i < fleet.changed.size(); ++i) fleet.changed[i] = i * 7919 % 204 < 23;
  EXPECT_TRUE(fleet.Explained().empty());
}

TEST(Explain, WhatAllHaveExplainsNothing) {
  Fleet fleet = DriverFleet();
  for (auto&& changed : fleet.changed) changed = true;
  EXPECT_TRUE(fleet.Explained().empty());
}

TEST(Explain, NamesOfOneGroupingAreToldAsOneAndTheFreshOneFirst) {
  Fleet fleet = DriverFleet();
  for (Attributes& a : fleet.attributes) {
    a["a_label"] = a["gpu.driver"] == "570.124" ? "new" : "old";
    a["gpu.cuda"] = a["gpu.driver"] == "570.124" ? "12.8" : "12.4";
  }
  EXPECT_EQ(fleet.Explained()[0].attribute(), "a_label");
  fleet.fresh = {"gpu.driver"};
  const v1::Explanation best = fleet.Explained()[0];
  EXPECT_EQ(best.attribute(), "gpu.driver");
  ASSERT_EQ(best.equivalent_size(), 2);
  EXPECT_EQ(best.equivalent(0), "a_label new");
  EXPECT_EQ(best.equivalent(1), "gpu.cuda 12.8");
}

// 2,000 fleets in which chance decides who changed: an explanation is found in at most the stated share.
TEST(Explain, IsFalseInAtMostTheStatedShareOfCases) {
  uint64_t random = 1;
  const auto next = [&random] {
    return (random = random * 6364136223846793005u + 1442695040888963407u) >> 33;
  };
  int explained = 0;
  constexpr int kFleets = 2000;
  for (int f = 0; f < kFleets; ++f) {
    Fleet fleet;
    for (int i = 0; i < 60; ++i) {
      Attributes a;
      for (int k = 0; k < 15; ++k) a["f" + std::to_string(k)] = std::to_string(next() % 4);
      fleet.attributes.push_back(std::move(a));
      fleet.changed.push_back(next() % 5 == 0);
    }
    if (!fleet.Explained(0.05).empty()) ++explained;
  }
  EXPECT_LE(explained, 100);
  EXPECT_GT(explained, 5);  // and is not blind
}

}  // namespace
}  // namespace fleetmark::collector
