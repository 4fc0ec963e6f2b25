#include "collector/detect/detection_loop.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "collector/detect/change_detector.h"
#include "collector/store/store.h"
#include "common/base/ulid.h"
#include "common/obs/metrics.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

class DetectionLoopTest : public StoreFixture {
 protected:
  std::unique_ptr<DetectionLoop> Make(std::vector<ReferenceRule> rules = {}) {
    DetectionLoop::Options options;
    options.store = store_.get();
    options.clock = &clock_;
    options.metrics = &metrics_;
    options.detectors = {std::make_shared<ChangeDetector>()};
    options.references = *ReferenceRules::Create(std::move(rules));
    options.max_fresh = max_fresh_;
    options.on_finding = [this](const v1::Finding& finding) {
      told_.push_back(finding);
      if (on_finding_) on_finding_();
    };
    return std::make_unique<DetectionLoop>(options);
  }
  std::vector<v1::Finding> Stored() {
    Page page;
    std::string next;
    return *store_->ListFindings({}, page, &next);
  }
  // Values around `level` that don't repeat.
  static std::vector<double> Level(size_t count, double level) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(level * (1 + 0.002 * static_cast<double>(i * 7 % 11)));
    return values;
  }

  FakeClock clock_;
  Metrics metrics_;
  size_t max_fresh_ = 1000;
  std::vector<v1::Finding> told_;
  std::function<void()> on_finding_;
};

TEST_F(DetectionLoopTest, StoresFindingsStateAndCleanlinessTogether) {
  AddRuns("n1", "stream", Level(40, 100));
  AddRuns("n1", "stream", Level(10, 70));
  Make()->RunOnce();
  ASSERT_EQ(told_.size(), 1u);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0].direction(), v1::Finding::DIRECTION_WORSE);
  EXPECT_EQ(Stored()[0].series().node(), "n1");
  EXPECT_TRUE(store_->DirtySeries(10)->empty());
  EXPECT_EQ(store_->Counts()->open_findings_worse, 1u);
  Make()->RunOnce();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(DetectionLoopTest, GoesOnAfterARestart) {
  AddRuns("n1", "stream", Level(40, 100));
  Make()->RunOnce();
  AddRuns("n1", "stream", Level(10, 70));
  Reopen();
  EXPECT_EQ(store_->DirtySeries(10)->size(), 1u);
  Make()->RunOnce();
  EXPECT_EQ(Stored().size(), 1u);
  AddRuns("n1", "stream", Level(10, 100));
  Reopen();
  Make()->RunOnce();
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0].state(), v1::Finding::STATE_CLOSED);
  EXPECT_EQ(store_->Counts()->open_findings, 0u);
}

TEST_F(DetectionLoopTest, WorksThroughMoreSamplesThanAPassTakes) {
  max_fresh_ = 7;
  AddRuns("n1", "stream", Level(40, 100));
  AddRuns("n1", "stream", Level(30, 70));
  Make()->RunOnce();
  EXPECT_EQ(Stored().size(), 1u);
  EXPECT_TRUE(store_->DirtySeries(10)->empty());
}

TEST_F(DetectionLoopTest, AttachesTheNodesEventsNearTheOnset) {
  AddRuns("n1", "stream", Level(40, 100));
  const auto add_event = [this](const std::string& node, int64_t time, const std::string& message) {
    v1::Event event;
    event.set_event_id(NewUlid(absl::FromUnixNanos(time)));
    event.set_time_unix_ns(time);
    event.set_node(node);
    event.set_message(message);
    ASSERT_TRUE(store_->PutEvent(event).ok());
  };
  const int64_t onset = kFirstRunNs + 40 * kMinuteNs;
  add_event("n1", onset - 30 * kMinuteNs, "new driver");
  add_event("n1", onset - 600 * kMinuteNs, "long ago");
  add_event("n2", onset, "elsewhere");
  add_event("", onset, "deployment");
  AddRuns("n1", "stream", Level(10, 70));
  Make()->RunOnce();
  ASSERT_EQ(Stored().size(), 1u);
  ASSERT_EQ(Stored()[0].events_size(), 2);
  EXPECT_EQ(Stored()[0].events(0).message(), "new driver");
  EXPECT_EQ(Stored()[0].events(1).message(), "deployment");
  AddRuns("n1", "stream", Level(10, 100));
  Make()->RunOnce();
  EXPECT_EQ(Stored()[0].state(), v1::Finding::STATE_CLOSED);
  EXPECT_EQ(Stored()[0].events_size(), 2);  // kept when it closes
}

TEST_F(DetectionLoopTest, ReferencesFollowNodeLabelsAndUnits) {
  AddNode("n1", "r1");
  AddNode("n2", "r2");
  AddRuns("n1", "stream", {80});
  ReferenceRule rule;
  rule.node_labels = {{"rack", "r1"}};
  rule.reference.set_value(100'000);
  rule.reference.set_lower(-0.1);
  rule.reference.set_unit("MB/s");
  Make({rule})->RunOnce();
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0].kind(), v1::Finding::KIND_REFERENCE);
  EXPECT_EQ(Stored()[0].before(), 100);
}

TEST_F(DetectionLoopTest, ARuleWithAWrongUnitIsReportedOnce) {
  AddRuns("n1", "stream", {1});
  AddRuns("n1", "other", {1});
  ReferenceRule rule;
  rule.reference.set_value(1);
  rule.reference.set_lower(-0.1);
  rule.reference.set_unit("s");
  const auto loop = Make({rule});
  loop->RunOnce();
  ASSERT_EQ(loop->Problems().size(), 1u);
  EXPECT_NE(loop->Problems()[0].find("references[0]"), std::string::npos);
  EXPECT_TRUE(Stored().empty());
}

TEST_F(DetectionLoopTest, AnUnreadableStateBeginsAnewWithTheSameFindings) {
  AddRuns("n1", "stream", Level(40, 100));
  AddRuns("n1", "stream", Level(10, 70));
  Make()->RunOnce();
  const std::string id = Stored()[0].finding_id();
  Store::Evaluation broken;
  broken.series_id = Stored()[0].series_id();
  broken.detector_state = "\xff\xff\xff";
  ASSERT_TRUE(store_->PutEvaluation(broken).ok());
  AddRuns("n1", "stream", {70});
  Make()->RunOnce();
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0].finding_id(), id);
}

TEST_F(DetectionLoopTest, TheThreadWakesByNotifyAndByTheInterval) {
  std::promise<void> first, second;
  on_finding_ = [&] { (told_.size() == 1 ? first : second).set_value(); };
  const auto loop = Make();
  loop->Start();
  clock_.AwaitWaiters(1);
  AddRuns("n1", "stream", Level(40, 100));
  AddRuns("n1", "stream", Level(10, 70));
  loop->Notify();
  first.get_future().wait();
  clock_.AwaitWaiters(1);
  AddRuns("n1", "stream", Level(20, 40));
  clock_.Advance(absl::Seconds(31));
  second.get_future().wait();
  loop->Stop();
  EXPECT_EQ(told_.size(), 2u);
}

}  // namespace
}  // namespace fleetmark::collector
