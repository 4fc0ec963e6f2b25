#include "collector/fleet/fleet_shift.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;
constexpr int64_t kNow = 1'790'000'000'000'000'000;

// 100 nodes in racks of ten, measured by `gemm` and `stream`.
class FleetShift : public testing::Test {
 protected:
  FleetShift() {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "n" + std::to_string(i);
      names_.push_back(name);
      nodes_[name].attributes = {{"rack", "r" + std::to_string(i / 10)}, {"gpu.driver", "550.90"}};
    }
    measurements_["gemm\nflops"] = {{{"benchmark", "gemm"}}, names_};
    measurements_["stream\ntriad"] = {{{"benchmark", "stream"}}, names_};
  }

  void Change(int node, const std::string& benchmark, int64_t onset, const std::string& device = "",
              int direction = v1::Finding::DIRECTION_WORSE) {
    ChangedSeries series;
    series.finding_id = std::to_string(changed_.size());
    series.series_id = changed_.size() + 1;
    series.node = names_[static_cast<size_t>(node)];
    series.device = device;
    series.benchmark = benchmark;
    series.metric = benchmark == "gemm" ? "flops" : "triad";
    series.measurement = {{"benchmark", benchmark}};
    series.direction = direction;
    series.onset_earliest_unix_ns = onset - kHour;
    series.onset_latest_unix_ns = onset;
    series.p_value = 1e-5;
    changed_.push_back(series);
  }

  void Driver(int node, int64_t at) {
    FleetNode& fleet_node = nodes_[names_[static_cast<size_t>(node)]];
    fleet_node.attributes["gpu.driver"] = "570.124";
    fleet_node.changed_at.emplace_back("gpu.driver", at);
  }

  std::vector<SeriesGroup> Join() const { return JoinChanges({changed_, &nodes_, &measurements_}, kNow); }

  std::vector<std::string> names_;
  std::map<std::string, FleetNode> nodes_;
  std::map<std::string, MeasuredOn> measurements_;
  std::vector<ChangedSeries> changed_;
};

TEST_F(FleetShift, ADriverOnATenthOfTheFleet) {
  for (int i = 0; i < 100; i += 10) {  // one node of each rack
    Driver(i, kNow - 30 * kHour);
    if (i != 50) Change(i, "gemm", kNow - 28 * kHour);
    Change(i, "stream", kNow - 27 * kHour);
  }
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scope, SeriesGroup::kFleet);
  EXPECT_EQ(groups[0].members.size(), 19u);
  EXPECT_EQ(groups[0].nodes, 10u);
  EXPECT_EQ(groups[0].text, "10 of 10 nodes with gpu.driver 570.124, 0 of 90 others");
}

TEST_F(FleetShift, ARollOutOverDaysIsOneGroup) {
  for (int i = 0; i < 20; ++i) {
    Driver(i * 5, kNow - (400 - 15 * i) * kHour);
    Change(i * 5, "gemm", kNow - (398 - 15 * i) * kHour);
  }
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 20u);
  EXPECT_EQ(groups[0].explanations[0].attribute(), "gpu.driver");
}

TEST_F(FleetShift, ARackIsNamedAsTheRackAndANodeElsewhereStaysAlone) {
  for (int i = 30; i < 40; ++i) Change(i, "stream", kNow - 5 * kHour);
  Change(77, "stream", kNow - 5 * kHour);
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 10u);
  EXPECT_EQ(groups[0].text, "10 of 10 nodes with rack r3, 1 of 90 others");
}

TEST_F(FleetShift, TwoCausesAtOneTimeAreTwoGroups) {
  for (int i = 30; i < 40; ++i) Change(i, "stream", kNow - 5 * kHour);
  for (int i = 40; i < 100; i += 5) {
    Driver(i, kNow - 6 * kHour);
    Change(i, "stream", kNow - 5 * kHour);
  }
  std::set<std::string> attributes;
  for (const SeriesGroup& group : Join()) attributes.insert(group.explanations.at(0).attribute());
  EXPECT_EQ(attributes, (std::set<std::string>{"gpu.driver", "rack"}));
}

TEST_F(FleetShift, ABenchmarkThatChangedOnAllNodesIsNamed) {
  for (int i = 0; i < 100; ++i) Change(i, "stream", kNow - 5 * kHour);
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 100u);
  EXPECT_EQ(groups[0].text, "100 of 100 measurements with benchmark stream, 0 of 100 others");
}

TEST_F(FleetShift, AllAtOnceNeedsNoExplanation) {
  for (int i = 0; i < 100; ++i) {
    Change(i, "stream", kNow - 5 * kHour);
    Change(i, "gemm", kNow - 5 * kHour);
  }
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 200u);
  EXPECT_EQ(groups[0].text, "all 100 nodes changed at once");
}

TEST_F(FleetShift, ScatteredChangesStayAlone) {
  for (int i = 0; i < 12; ++i) Change(i * 8, "stream", kNow - (50 * i + 5) * kHour);
  EXPECT_TRUE(Join().empty());
}

TEST_F(FleetShift, TwoNodesAtOneTimeAreNoGroupWithoutAReason) {
  Change(3, "stream", kNow - 5 * kHour);
  Change(78, "stream", kNow - 5 * kHour);
  EXPECT_TRUE(Join().empty());
}

TEST_F(FleetShift, OneNodeAndOneDevice) {
  Change(3, "stream", kNow - 5 * kHour);
  Change(3, "gemm", kNow - 4 * kHour);
  Change(78, "gemm", kNow - 300 * kHour, "gpu3");
  Change(78, "stream", kNow - 299 * kHour, "gpu3");
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].scope, SeriesGroup::kDevice);
  EXPECT_EQ(groups[0].text, "2 series of device gpu3 on n78 changed at once");
  EXPECT_EQ(groups[1].scope, SeriesGroup::kNode);
}

TEST_F(FleetShift, DirectionsAreNotMixed) {
  for (int i = 30; i < 40; ++i) {
    Change(i, "stream", kNow - 5 * kHour, "", v1::Finding::DIRECTION_WORSE);
    Change(i, "gemm", kNow - 5 * kHour, "", v1::Finding::DIRECTION_BETTER);
  }
  const std::vector<SeriesGroup> groups = Join();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].members.size(), 10u);
  EXPECT_EQ(groups[1].members.size(), 10u);
}

}  // namespace
}  // namespace fleetmark::collector
