#include "collector/alert/alert_engine.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "alert_finding.h"
#include "common/base/status.h"
#include "common/obs/metrics.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using testing::ElementsAre;
using v1::AlertLife;
using v1::Notice;

class AlertEngineTest : public StoreFixture {
 protected:
  AlertEngineTest() {
    AlertRoute all;
    all.receivers = {"ops"};
    options_.routes = {all};
    options_.receivers = {"ops"};
    options_.links.external_url = "https://fleet.example/";
    Restart();
  }

  // A new process over the same store.
  void Restart() {
    engine_.reset();
    metrics_ = std::make_unique<Metrics>();
    AlertEngine::Options options = options_;
    options.store = store_.get();
    options.clock = &clock_;
    options.metrics = metrics_.get();
    options.on_notices = [this](std::vector<StoredNotice> notices) {
      for (StoredNotice& notice : notices) queue_[notice.key] = std::move(notice.notice);
    };
    queue_.clear();
    engine_ = std::make_unique<AlertEngine>(std::move(options));
    ASSERT_TRUE(engine_->Load().ok());
  }

  void Put(const v1::Finding& finding) { ASSERT_TRUE(store_->PutFleetEvaluation({"", {finding}, {}}).ok()); }
  void Close(v1::Finding finding) {
    finding.set_state(v1::Finding::STATE_CLOSED);
    finding.set_explanation("as before again");
    Put(finding);
  }
  void Look(absl::Duration later = absl::ZeroDuration()) {
    clock_.Advance(later);
    const absl::Status status = engine_->RunOnce();
    ASSERT_TRUE(status.ok()) << status;
  }
  // What waits to be sent since it was last asked, as "reason subject".
  std::vector<std::string> Sent() {
    std::vector<std::string> out;
    for (const auto& [key, notice] : std::exchange(queue_, {})) {
      out.push_back(Notice::Reason_Name(notice.reason()).substr(7) + " " + notice.alert().subject());
      EXPECT_TRUE(engine_->Finish({key, notice}, true, "taken").ok());
    }
    return out;
  }
  std::map<std::string, AlertLife::State> States() {
    std::map<std::string, AlertLife::State> out;
    for (const auto& alert : engine_->Current()) out[alert->subject()] = alert->life().state();
    return out;
  }
  v1::Alert Only() {
    const auto current = engine_->Current();
    EXPECT_EQ(current.size(), 1u);
    return current.empty() ? v1::Alert() : *current[0];
  }
  absl::Status Ack(const std::string& id) {
    v1::AckAlertRequest request;
    request.set_alert_id(id);
    request.set_by("ann@desk");
    return engine_->Acknowledge(request).status();
  }

  FakeClock clock_;
  AlertEngine::Options options_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<AlertEngine> engine_;
  std::map<NoticeKey, Notice> queue_;
};

TEST_F(AlertEngineTest, AFindingIsToldOnceAndItsEndOnce) {
  Put(SlowFinding("n7"));
  Look();
  EXPECT_TRUE(Sent().empty());
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
  Look(absl::Hours(3));
  EXPECT_TRUE(Sent().empty());
  Close(SlowFinding("n7"));
  Look();
  Look(absl::Minutes(10));
  EXPECT_THAT(Sent(), ElementsAre("RESOLVED node n7"));
  EXPECT_EQ(Only().life().resolution(), "as before again");
}

TEST_F(AlertEngineTest, WhatIsNoAlertMakesNone) {
  v1::Finding better = SlowFinding("n1");
  better.set_direction(v1::Finding::DIRECTION_BETTER);
  Put(better);
  v1::Finding doubtful = SlowFinding("n2");
  doubtful.mutable_budget()->set_within(false);
  Put(doubtful);
  Look(absl::Hours(1));
  EXPECT_TRUE(engine_->Current().empty());
}

TEST_F(AlertEngineTest, AllThatIsSlowOnANodeIsOneAlert) {
  Put(SlowFinding("n7", "stream"));
  Put(SlowFinding("n7", "gemm"));
  Look();
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
  EXPECT_EQ(Only().finding_count(), 2u);
  EXPECT_FALSE(Only().labels().contains("benchmark"));
  Close(SlowFinding("n7", "stream"));
  Look(absl::Hours(1));
  EXPECT_EQ(Only().life().state(), AlertLife::STATE_FIRING);  // gemm is slow still
  EXPECT_EQ(Only().finding_count(), 1u);
}

TEST_F(AlertEngineTest, APendingOneIsShownAndToldOnceConfirmed) {
  Put(PendingFinding("n7"));
  Look();
  EXPECT_EQ(Only().life().state(), AlertLife::STATE_PENDING);
  EXPECT_FALSE(Ack(Only().alert_id()).ok());
  Put(SlowFinding("n7"));
  Look(absl::Minutes(10));
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
}

TEST_F(AlertEngineTest, ARefutedOneIsResolvedAndTellsWhy) {
  Put(PendingFinding("n7"));
  Look();
  v1::Finding refuted = PendingFinding("n7");
  refuted.mutable_confirmation()->set_state(v1::Confirmation::STATE_REFUTED);
  refuted.mutable_confirmation()->set_reruns(4);
  Put(refuted);
  Look(absl::Minutes(1));
  EXPECT_EQ(Only().life().state(), AlertLife::STATE_RESOLVED);
  EXPECT_EQ(Only().life().resolution(), "refuted by 4 later runs");
  EXPECT_TRUE(Sent().empty());
}

TEST_F(AlertEngineTest, ADriverThatSlowsManyIsOneAlertAtOnce) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back("n" + std::to_string(i));
    v1::Finding member = SlowFinding(nodes.back());
    member.set_group_id(DriverFinding({}).finding_id());
    Put(member);
  }
  Put(DriverFinding(nodes));
  Look();
  EXPECT_THAT(Sent(), ElementsAre("FIRING gpu.driver 570.124"));
  EXPECT_EQ(Only().node_count(), 100u);
  EXPECT_EQ(Only().severity(), v1::ALERT_SEVERITY_CRITICAL);
  EXPECT_THAT(Only().title(), testing::HasSubstr("gpu.driver 570.124"));
}

TEST_F(AlertEngineTest, AnAlertWhoseFindingJoinsAGroupIsMutedByIt) {
  Put(SlowFinding("n1"));
  Look();
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n1"));
  v1::Finding member = SlowFinding("n1");
  member.set_group_id(DriverFinding({}).finding_id());
  Put(member);
  Put(DriverFinding({"n1", "n2"}));
  Look(absl::Minutes(1));
  EXPECT_THAT(Sent(), ElementsAre("FIRING gpu.driver 570.124"));
  Look(absl::Seconds(5));
  EXPECT_EQ(States()["node n1"], AlertLife::STATE_SILENCED);
  // Still slow when the group is over: then it speaks for itself again, as a repeat when that is due.
  Close(DriverFinding({"n1", "n2"}));
  Look(absl::Minutes(1));
  Look(absl::Minutes(10));
  EXPECT_THAT(Sent(), ElementsAre("RESOLVED gpu.driver 570.124"));
  Look(absl::Seconds(5));
  EXPECT_EQ(States()["node n1"], AlertLife::STATE_FIRING);
}

TEST_F(AlertEngineTest, ReferencesOfAllNodesWithTheDriverAreMutedThoughTheListIsCutShort) {
  v1::Node node;
  node.mutable_identity()->set_name("n500");
  v1::Fact& fact = *node.add_facts();
  fact.set_name("gpu0.driver");
  fact.set_value("570.124");
  ASSERT_TRUE(store_->PutNode(node).ok());
  node.mutable_identity()->set_name("n900");
  node.mutable_facts(0)->set_value("550");
  ASSERT_TRUE(store_->PutNode(node).ok());
  v1::Finding group = DriverFinding({"n1", "n2"});
  group.set_member_count(900);
  Put(group);
  Look();
  EXPECT_THAT(Sent(), ElementsAre("FIRING gpu.driver 570.124"));
  for (const char* name : {"n500", "n900"}) {
    v1::Finding reference = SlowFinding(name);
    reference.set_kind(v1::Finding::KIND_REFERENCE);
    Put(reference);
  }
  Look();
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n900"));  // it has another driver
  EXPECT_EQ(States()["node n500"], AlertLife::STATE_SILENCED);
}

TEST_F(AlertEngineTest, AnAgentThatIsGoneMutesWhatIsKnownOfItsNode) {
  Put(SilentFinding({"n1"}, "node n1"));
  Look();
  Put(SlowFinding("n1"));
  Put(SilentFinding({"n1"}, "node n1", "stream"));
  Put(SlowFinding("n2"));
  Look();
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), testing::UnorderedElementsAre("FIRING node n1", "FIRING node n2"));
  size_t silenced = 0;
  for (const auto& alert : engine_->Current()) silenced += alert->life().state() == AlertLife::STATE_SILENCED;
  EXPECT_EQ(silenced, 2u);
}

TEST_F(AlertEngineTest, ANodeThatGrowsToItsRackStaysOneAlert) {
  v1::Finding finding = SilentFinding({"n1"}, "node n1");
  Put(finding);
  Look();
  v1::Finding rack = SilentFinding({"n1", "n2", "n3"}, "rack r1");
  rack.set_finding_id(finding.finding_id());
  Put(rack);
  Look(absl::Minutes(1));
  Look(absl::Minutes(1));
  EXPECT_THAT(Sent(), ElementsAre("FIRING rack r1"));
  EXPECT_EQ(Only().node_count(), 3u);
}

TEST_F(AlertEngineTest, TheSameProblemSoonAgainIsTheSameAlert) {
  Put(SlowFinding("n7"));
  Look();
  Look(absl::Seconds(90));
  const std::string id = Only().alert_id();
  Close(SlowFinding("n7"));
  Look();
  Look(absl::Minutes(10));
  Sent();
  v1::Finding next = SlowFinding("n7", "gemm");
  Put(next);
  Look(absl::Hours(20));
  Look(absl::Seconds(90));
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
  EXPECT_EQ(Only().alert_id(), id);
  EXPECT_EQ(Only().life().firings(), 2u);
  Close(next);
  Look();
  Look(absl::Minutes(10));
  Sent();
  Put(SlowFinding("n7", "hpl"));
  Look(absl::Hours(25));  // another day, another alert
  EXPECT_NE(Only().alert_id(), id);
}

TEST_F(AlertEngineTest, SilencesMuteAndEnd) {
  v1::Silence silence;
  (*silence.mutable_match())["node"] = "n*";
  silence.set_by("ann@desk");
  silence.set_note("moving the rack");
  silence.set_from_unix_ns(absl::ToUnixNanos(clock_.Now()));
  silence.set_to_unix_ns(absl::ToUnixNanos(clock_.Now() + absl::Hours(2)));
  Put(SlowFinding("n7"));
  Look();
  const auto added = engine_->AddSilence(silence);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->muted_size(), 1);
  Look(absl::Hours(1));
  EXPECT_TRUE(Sent().empty());
  EXPECT_EQ(Only().life().state(), AlertLife::STATE_SILENCED);
  Restart();
  Look();
  EXPECT_EQ(Only().life().state(), AlertLife::STATE_SILENCED);
  v1::EndSilenceRequest end;
  end.set_silence_id(added->silence().silence_id());
  end.set_by("bob@desk");
  ASSERT_TRUE(engine_->EndSilence(end).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->EndSilence(end)));
  Look();
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
}

TEST_F(AlertEngineTest, TheHistorySaysWhoDidWhatAndWhoWasTold) {
  Put(SlowFinding("n7"));
  Look();
  Look(absl::Seconds(90));
  Sent();
  ASSERT_TRUE(Ack(Only().alert_id().substr(20)).ok());
  const auto history = store_->alerts().History(Only().alert_id());
  ASSERT_TRUE(history.ok());
  std::vector<v1::AlertChange::Kind> kinds;
  for (const v1::AlertChange& change : *history) kinds.push_back(change.kind());
  EXPECT_THAT(kinds, ElementsAre(v1::AlertChange::KIND_FIRING, v1::AlertChange::KIND_NOTICE,
                                 v1::AlertChange::KIND_DELIVERED, v1::AlertChange::KIND_ACKNOWLEDGED,
                                 v1::AlertChange::KIND_NOTICE));
  EXPECT_EQ(history->at(3).by(), "ann@desk");
  EXPECT_EQ(history->at(2).text(), "ops: taken");
}

TEST_F(AlertEngineTest, WhatWaitsIsHandedOnAgainAfterARestart) {
  Put(SlowFinding("n7"));
  Look();
  Look(absl::Seconds(90));
  const auto waiting = queue_;
  ASSERT_EQ(waiting.size(), 1u);
  Restart();
  ASSERT_EQ(queue_.size(), 1u);
  EXPECT_EQ(queue_.begin()->second.notice_id(), waiting.begin()->second.notice_id());
  EXPECT_THAT(Sent(), ElementsAre("FIRING node n7"));
  Restart();
  EXPECT_TRUE(queue_.empty());
  Look();
  EXPECT_TRUE(queue_.empty());
}

TEST_F(AlertEngineTest, AFullQueueAndAReceiverThatIsNoMoreGiveNoticesUp) {
  options_.max_waiting = 2;
  options_.max_dead = 3;
  Restart();
  for (int i = 0; i < 8; ++i) Put(SlowFinding("n" + std::to_string(i)));
  Look();
  Look(absl::Seconds(90));
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_EQ(store_->alerts().Queue()->size(), 2u);
  EXPECT_GE(engine_->DeadOf("ops"), 3u);
  options_.receivers = {"other"};
  Restart();
  EXPECT_TRUE(queue_.empty());
  EXPECT_TRUE(store_->alerts().Queue()->empty());
}

TEST_F(AlertEngineTest, OldAlertsAreDroppedWithTheirHistory) {
  Put(SlowFinding("n7"));
  Look();
  const std::string id = Only().alert_id();
  Close(SlowFinding("n7"));
  Look();
  Look(absl::Minutes(10));
  EXPECT_TRUE(store_->alerts().GetAlert(id).ok());
  Look(options_.keep_resolved + absl::Hours(1));
  EXPECT_TRUE(absl::IsNotFound(store_->alerts().GetAlert(id).status()));
  EXPECT_TRUE(store_->alerts().History(id)->empty());
}

// Random lives of several nodes, with restarts between any two looks: whoever was told that something fires
// is told its end, nobody is told twice, and a notice that was not confirmed as sent comes again with its id.
TEST_F(AlertEngineTest, RestartsNeitherLoseNorDoubleANotice) {
  std::mt19937_64 rng(7);
  const auto draw = [&rng](int n) { return static_cast<int>(rng() % static_cast<uint64_t>(n)); };
  std::map<std::string, bool> open;  // by subject
  std::set<std::string> seen;
  const auto deliver = [&] {
    for (const auto& [key, notice] : std::exchange(queue_, {})) {
      if (draw(4) == 0) {  // the process ends before it knows that it was taken
        queue_[key] = notice;
        continue;
      }
      EXPECT_TRUE(seen.insert(notice.notice_id()).second) << "sent twice though it was confirmed";
      ASSERT_TRUE(engine_->Finish({key, notice}, true, "taken").ok());
      bool& told = open[notice.alert().subject()];
      if (notice.reason() == Notice::REASON_FIRING) {
        EXPECT_FALSE(told);
        told = true;
      } else if (notice.reason() == Notice::REASON_RESOLVED) {
        EXPECT_TRUE(told);
        told = false;
      }
    }
  };
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const v1::Finding finding = SlowFinding("n" + std::to_string(draw(5)));
    draw(2) == 0 ? Put(finding) : Close(finding);
    Look(absl::Minutes(draw(15)));
    deliver();
    if (draw(3) == 0) Restart();
  }
  for (int n = 0; n < 5; ++n) Close(SlowFinding("n" + std::to_string(n)));
  for (int i = 0; i < 60; ++i) {
    Look(absl::Minutes(10));
    deliver();
  }
  for (const auto& [subject, told] : open) EXPECT_FALSE(told) << subject << " never heard of its end";
  EXPECT_GT(seen.size(), 30u);
}

}  // namespace
}  // namespace fleetmark::collector
