// What the dashboard reads: the fleet in columns, curves, and comparisons of groups.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "collector/query/curve.h"
#include "collector/query/fleet_overview.h"
#include "collector/query/group_compare.h"
#include "common/base/ulid.h"
#include "store_fixture.h"

namespace fleetmark::collector {
namespace {

using Direction = v1::Finding;

class OverviewTest : public StoreFixture {
 protected:
  v1::Finding Finding(const std::string& node, double change, Direction::Direction direction) {
    v1::Finding finding;
    finding.set_finding_id(NewUlid(absl::FromUnixNanos(kFirstRunNs)));
    if (!node.empty()) finding.mutable_series()->set_node(node);
    finding.mutable_series()->set_benchmark("stream");
    finding.set_kind(v1::Finding::KIND_CHANGE);
    finding.set_direction(direction);
    finding.set_state(v1::Finding::STATE_OPEN);
    finding.set_change(change);
    finding.set_found_unix_ns(kFirstRunNs);
    finding.set_onset_latest_unix_ns(kFirstRunNs);
    return finding;
  }
  void Put(const v1::Finding& finding) {
    Store::FleetEvaluation evaluation;
    evaluation.findings.push_back(finding);
    ASSERT_TRUE(store_->PutFleetEvaluation(evaluation).ok());
  }
  v1::FleetResponse Read(const v1::GetFleetRequest& request = {}, const FillLive& live = {}) {
    const absl::Time now = absl::FromUnixNanos(kFirstRunNs) + absl::Hours(1);
    auto fleet = ReadFleet(*store_, live, now, request);
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    return fleet.ok() ? *fleet : v1::FleetResponse();
  }
  uint64_t SeriesOf(const std::string& node) {
    v1::Selector selector;
    selector.set_node(node);
    std::string next;
    const auto series = store_->ListSeries(selector, {10, ""}, &next);
    EXPECT_TRUE(series.ok() && series->size() == 1);
    return series->front().series_id();
  }
};

TEST_F(OverviewTest, AnEmptyFleetHasNothing) {
  const v1::FleetResponse fleet = Read();
  EXPECT_EQ(fleet.counts().expected(), 0u);
  EXPECT_EQ(fleet.names_size(), 0);
  EXPECT_EQ(fleet.problems_size(), 0);
  EXPECT_FALSE(fleet.truncated());
}

TEST_F(OverviewTest, ColumnsStandForNodesAlsoWhereSomeLackALabel) {
  AddNode("n1", "r1");
  v1::Node bare;
  bare.mutable_identity()->set_name("n2");
  ASSERT_TRUE(store_->PutNode(bare).ok());
  AddNode("n3", "r1");
  AddNode("n4", "r2");
  const v1::FleetResponse fleet = Read();
  ASSERT_EQ(fleet.names_size(), 4);
  ASSERT_EQ(fleet.labels_size(), 1);
  EXPECT_EQ(fleet.labels(0).name(), "rack");
  const auto& index = fleet.labels(0).index();
  ASSERT_EQ(index.size(), 4);
  EXPECT_EQ(fleet.labels(0).values(index[0]), "r1");
  EXPECT_EQ(index[1], -1);
  EXPECT_EQ(index[2], index[0]);
  EXPECT_EQ(fleet.labels(0).values(index[3]), "r2");
}

TEST_F(OverviewTest, StatesAreCountedAndTellWhatANodeWaitsFor) {
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name, "r1");
  const v1::FleetResponse fleet = Read({}, [](v1::Node* node) {
    if (node->identity().name() == "n3") return;
    node->set_state(v1::NODE_STATE_CONNECTED);
    if (node->identity().name() != "n2") return;
    node->mutable_heartbeat()->set_next_benchmark("gemm");
    node->mutable_heartbeat()->set_waits_for("job 4711 is here");
  });
  EXPECT_EQ(fleet.counts().expected(), 3u);
  EXPECT_EQ(fleet.counts().reporting(), 2u);
  EXPECT_EQ(fleet.counts().silent(), 1u);
  EXPECT_EQ(fleet.counts().busy(), 1u);
  EXPECT_EQ(fleet.state(0), v1::FLEET_NODE_STATE_IDLE);
  EXPECT_EQ(fleet.state(1), v1::FLEET_NODE_STATE_BUSY);
  EXPECT_EQ(fleet.state(2), v1::FLEET_NODE_STATE_SILENT);
  ASSERT_EQ(fleet.activities_size(), 1);
  EXPECT_EQ(fleet.activities(0).node(), 1u);
  EXPECT_EQ(fleet.activities(0).text(), "gemm waits: job 4711 is here");
}

TEST_F(OverviewTest, ProblemsAreToldByTheirCauseAndMarkedOnEachNode) {
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name, "r1");
  v1::Finding shift = Finding("", -0.09, Direction::DIRECTION_WORSE);
  shift.set_kind(v1::Finding::KIND_FLEET);
  for (const char* name : {"n1", "n2"}) {
    v1::Finding member = Finding(name, -0.09, Direction::DIRECTION_WORSE);
    member.set_group_id(shift.finding_id());
    Put(member);
    v1::FindingMember& m = *shift.add_members();
    m.set_node(name);
    m.set_finding_id(member.finding_id());
    m.set_change(-0.09);
  }
  shift.set_member_count(2);
  Put(shift);
  Put(Finding("n3", 0.2, Direction::DIRECTION_BETTER));
  const v1::FleetResponse fleet = Read();
  ASSERT_EQ(fleet.problems_size(), 1);
  EXPECT_EQ(fleet.problems(0).finding_id(), shift.finding_id());
  EXPECT_EQ(fleet.counts().findings_worse(), 1u);
  EXPECT_EQ(fleet.counts().findings_other(), 1u);
  EXPECT_EQ(fleet.counts().worse(), 2u);
  EXPECT_EQ(fleet.worse(0), 1u);
  EXPECT_EQ(fleet.worse(1), 1u);
  EXPECT_FLOAT_EQ(fleet.worst_change(1), -0.09F);
  EXPECT_EQ(fleet.worse(2), 0u);
  EXPECT_EQ(fleet.other(2), 1u);
  EXPECT_EQ(fleet.counts().opened_today(), 2u);
}

TEST_F(OverviewTest, TheGravestOfANodeIsItsWorst) {
  AddNode("n1", "r1");
  Put(Finding("n1", -0.1, Direction::DIRECTION_WORSE));
  Put(Finding("n1", -0.5, Direction::DIRECTION_WORSE));
  Put(Finding("n1", -0.2, Direction::DIRECTION_WORSE));
  const v1::FleetResponse fleet = Read();
  EXPECT_EQ(fleet.worse(0), 3u);
  EXPECT_FLOAT_EQ(fleet.worst_change(0), -0.5F);
  ASSERT_EQ(fleet.problems_size(), 3);
  EXPECT_DOUBLE_EQ(fleet.problems(0).change(), -0.5);
  EXPECT_DOUBLE_EQ(fleet.problems(2).change(), -0.1);
}

TEST_F(OverviewTest, AMetricIsGivenWithWhatItWasBefore) {
  AddNode("n1", "r1");
  AddNode("n2", "r1");
  AddRuns("n1", "stream", {100, 102, 98, 100, 50});
  AddRuns("n2", "stream", {100, 90});
  v1::GetFleetRequest request;
  request.mutable_selector()->set_benchmark("stream");
  request.mutable_selector()->set_metric("bandwidth");
  const v1::FleetResponse fleet = Read(request);
  EXPECT_EQ(fleet.metric().series(), 2u);
  EXPECT_EQ(fleet.metric().unit(), "GB/s");
  EXPECT_DOUBLE_EQ(fleet.metric().value(0), 50);
  EXPECT_DOUBLE_EQ(fleet.metric().before(0), 100);
  EXPECT_DOUBLE_EQ(fleet.metric().value(1), 90);
  EXPECT_TRUE(std::isnan(fleet.metric().before(1))) << "one sample is no past";
}

TEST_F(OverviewTest, EqualEventsOfADayAreOneChange) {
  AddNode("n1", "r1");
  AddNode("n2", "r1");
  for (const char* node : {"n1", "n2"}) {
    v1::Event event;
    event.set_event_id(NewUlid(absl::FromUnixNanos(kFirstRunNs)));
    event.set_time_unix_ns(kFirstRunNs);
    event.set_node(node);
    event.set_kind(v1::Event::KIND_FACT_CHANGED);
    event.set_subject("gpu.driver");
    event.set_old_value("560");
    event.set_new_value("570");
    ASSERT_TRUE(store_->PutEvent(event).ok());
  }
  const v1::FleetResponse fleet = Read();
  ASSERT_EQ(fleet.changes_size(), 1);
  EXPECT_EQ(fleet.changes(0).events(), 2u);
  EXPECT_EQ(fleet.changes(0).nodes_size(), 2);
}

TEST_F(OverviewTest, ACurveIsSamplesWhenTheyAreFewAndKeepsPeaksWhenTheyAreMany) {
  AddNode("n1", "r1");
  std::vector<double> values(1000, 100);
  values[500] = 7;
  AddRuns("n1", "stream", values);
  const uint64_t id = SeriesOf("n1");
  const auto whole = ReadCurveOf(*store_, id, 0, INT64_MAX, 1000);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->value_size(), 1000);
  EXPECT_EQ(whole->bucket_seconds(), 0);
  const auto few = ReadCurveOf(*store_, id, 0, INT64_MAX, 50);
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_LE(few->value_size(), 50);
  EXPECT_GT(few->bucket_seconds(), 0);
  double least = 1000;
  uint64_t count = 0;
  for (int i = 0; i < few->value_size(); ++i) {
    least = std::min(least, few->low(i));
    count += few->count(i);
    EXPECT_EQ(few->value(i), 100);
  }
  EXPECT_EQ(least, 7);
  EXPECT_EQ(count, 1000u);
  EXPECT_TRUE(absl::IsNotFound(ReadCurveOf(*store_, 99, 0, INT64_MAX, 50).status()));
}

TEST_F(OverviewTest, GroupsOfNodesAreComparedByTheirMedians) {
  v1::CompareRequest request;
  request.mutable_a()->mutable_selector()->mutable_node_labels()->insert({"rack", "r1"});
  request.mutable_b()->mutable_selector()->mutable_node_labels()->insert({"rack", "r2"});
  for (int i = 0; i < 8; ++i) {
    const std::string a = "a" + std::to_string(i), b = "b" + std::to_string(i);
    AddNode(a, "r1");
    AddNode(b, "r2");
    AddRuns(a, "stream", {100.0 + i, 100.5 + i, 1000});  // an outlier moves no median
    AddRuns(b, "stream", {90.0 + i, 90.5 + i});
  }
  const auto answer = CompareGroups(*store_, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->nodes_a(), 8u);
  ASSERT_EQ(answer->comparisons_size(), 1);
  const v1::Comparison& c = answer->comparisons(0);
  EXPECT_EQ(c.basis(), v1::Comparison::BASIS_NODES);
  EXPECT_EQ(c.direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_NEAR(c.change(), -0.1, 0.01);
  EXPECT_LT(c.change_low(), c.change());
  EXPECT_LT(c.change_high(), 0);
}

TEST_F(OverviewTest, TheSameNodesAtTwoTimesAreComparedAsPairs) {
  v1::CompareRequest request;
  int64_t middle = kFirstRunNs;
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) names.push_back("n" + std::to_string(i));
  for (size_t i = 0; i < names.size(); ++i) {
    AddNode(names[i], "r1");
    AddRuns(names[i], "stream", {std::pow(10, static_cast<double>(i))});  // far apart from one another
    middle += kMinuteNs;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    AddRuns(names[i], "stream",
            {1.05 * std::pow(10, static_cast<double>(i)) * (1 + 0.001 * static_cast<double>(i))});
  }
  request.mutable_a()->mutable_range()->set_to_unix_ns(middle);
  request.mutable_b()->mutable_range()->set_from_unix_ns(middle);
  const auto answer = CompareGroups(*store_, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->comparisons_size(), 1);
  const v1::Comparison& c = answer->comparisons(0);
  EXPECT_EQ(c.basis(), v1::Comparison::BASIS_PAIRED_NODES);
  EXPECT_EQ(c.direction(), v1::Finding::DIRECTION_BETTER) << c.explanation();
  EXPECT_NEAR(c.change(), 0.0526, 0.001);
}

TEST_F(OverviewTest, EqualGroupsDoNotDiffer) {
  v1::CompareRequest request;
  request.mutable_a()->mutable_selector()->mutable_node_labels()->insert({"rack", "r1"});
  request.mutable_b()->mutable_selector()->mutable_node_labels()->insert({"rack", "r2"});
  for (int i = 0; i < 10; ++i) {
    const std::string name = "n" + std::to_string(i);
    AddNode(name, i % 2 == 0 ? "r1" : "r2");
    AddRuns(name, "stream", {100.0 + (i / 2) % 3});
  }
  const auto answer = CompareGroups(*store_, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->comparisons(0).direction(), v1::Finding::DIRECTION_NEUTRAL);
  EXPECT_LE(answer->comparisons(0).change_low(), 0);
  EXPECT_GE(answer->comparisons(0).change_high(), 0);
}

}  // namespace
}  // namespace fleetmark::collector
