#include "collector/action/action_engine.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/action/action_book.h"
#include "collector/store/action_tables.h"
#include "common/base/ulid.h"
#include "common/obs/metrics.h"
#include "fake_executor.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using v1::Action;
using v1::AlertLife;

class ActionEngineTest : public StoreFixture {
 protected:
  ActionEngineTest() {
    for (int i = 0; i < 20; ++i) nodes_.push_back({absl::StrCat("n", i), "cpu", {}, true});
    options_.enabled = true;
    options_.limits = {.period = absl::Hours(24), .max_nodes = 3, .max_share = 0.2, .min_healthy = 0.5};
    options_.rules = {{"drain", v1::ACTION_KIND_SLURM_DRAIN, {{"class", "slow"}}, &system_}};
    Restart();
  }

  // A new process over the same store.
  void Restart() {
    engine_.reset();
    metrics_ = std::make_unique<Metrics>();
    book_ = std::make_unique<ActionBook>(store_->actions(), clock_);
    ASSERT_TRUE(book_->Load().ok());
    ActionEngine::Options options = options_;
    options.book = book_.get();
    options.clock = &clock_;
    options.metrics = metrics_.get();
    options.alerts = [this] {
      std::vector<std::shared_ptr<const v1::Alert>> out;
      for (const auto& [node, alert] : alerts_) out.push_back(std::make_shared<v1::Alert>(alert));
      return out;
    };
    options.finding = [this](const std::string& id) -> absl::StatusOr<v1::Finding> {
      const auto it = findings_.find(id);
      if (it == findings_.end()) return absl::NotFoundError(id);
      return it->second;
    };
    options.nodes = [this]() -> absl::StatusOr<std::vector<ActionNode>> { return nodes_; };
    engine_ = std::make_unique<ActionEngine>(std::move(options));
  }

  void AddFinding(const std::string& node, const std::string& benchmark) {
    v1::Finding finding;
    finding.set_finding_id(UlidFromSeed(clock_.Now(), absl::StrCat(node, benchmark)));
    finding.mutable_series()->set_node(node);
    finding.mutable_series()->set_benchmark(benchmark);
    finding.set_kind(v1::Finding::KIND_CHANGE);
    finding.set_direction(v1::Finding::DIRECTION_WORSE);
    finding.set_state(v1::Finding::STATE_OPEN);
    finding.mutable_budget()->set_within(true);
    findings_[finding.finding_id()] = finding;
    v1::Alert& alert = alerts_[node];
    v1::AlertFinding& entry = *alert.add_findings();
    entry.set_finding_id(finding.finding_id());
    entry.set_open(true);
    *alert.mutable_main() = finding;
  }

  // Its alert fires, shown by two benchmarks.
  void Slow(const std::string& node, bool enough = true) {
    v1::Alert& alert = alerts_[node];
    alert = v1::Alert();
    alert.set_alert_id(UlidFromSeed(clock_.Now(), node));
    alert.set_class_(v1::ALERT_CLASS_SLOW);
    (*alert.mutable_labels())["class"] = "slow";
    alert.set_title(absl::StrCat(node, " is slow"));
    alert.add_nodes(node);
    alert.set_node_count(1);
    alert.mutable_life()->set_state(AlertLife::STATE_FIRING);
    alert.mutable_life()->set_firing_unix_ns(absl::ToUnixNanos(clock_.Now()));
    AddFinding(node, "stream");
    if (enough) AddFinding(node, "gemm");
  }
  void Well(const std::string& node) {
    alerts_[node].mutable_life()->set_state(AlertLife::STATE_RESOLVED);
    alerts_[node].mutable_life()->set_resolved_unix_ns(absl::ToUnixNanos(clock_.Now()));
  }
  void Look(absl::Duration later = absl::ZeroDuration()) {
    clock_.Advance(later);
    const absl::Status status = engine_->RunOnce();
    ASSERT_TRUE(status.ok()) << status;
  }
  std::map<std::string, Action::State> States() {
    std::map<std::string, Action::State> out;
    for (const Action& action : book_->All()) out[action.node()] = action.state();
    return out;
  }
  std::string WhyNot(const std::string& node) {
    for (const v1::ActionHeldBack& entry : engine_->HeldBack()) {
      if (entry.node() == node) return entry.why();
    }
    return "";
  }
  std::vector<std::string> History(const std::string& node) {
    std::vector<std::string> out;
    for (const Action& action : book_->All()) {
      if (action.node() != node) continue;
      const auto history = store_->actions().History(action.action_id());
      EXPECT_TRUE(history.ok());
      for (const v1::ActionChange& change : *history) {
        out.push_back(Action::State_Name(change.state()).substr(6) + " by " + change.by() + ": " +
                      change.text());
      }
    }
    return out;
  }
  void Switch(bool stop) {
    v1::ActionSwitch value;
    value.set_stopped(stop);
    value.set_by("ann");
    ASSERT_TRUE(book_->SetSwitch(value).ok());
  }

  FakeClock clock_;
  FakeExecutor system_;
  ActionEngine::Options options_;
  std::vector<ActionNode> nodes_;
  std::map<std::string, v1::Alert> alerts_;
  std::map<std::string, v1::Finding> findings_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<ActionBook> book_;
  std::unique_ptr<ActionEngine> engine_;
};

TEST_F(ActionEngineTest, ActsOnceTheAlertHasSettledAndTakesItBackOnceTheNodeIsWell) {
  Slow("n1");
  Look(absl::Minutes(9));
  EXPECT_THAT(system_.held, IsEmpty());
  EXPECT_THAT(WhyNot("n1"), HasSubstr("settle"));
  Look(absl::Minutes(1));
  ASSERT_THAT(system_.done, ElementsAre("n1"));
  EXPECT_THAT(system_.held["n1.there"], HasSubstr("n1 is slow; finding "));
  Look(absl::Hours(10));
  Well("n1");
  Look();
  Look(absl::Minutes(29));
  EXPECT_THAT(system_.undone, IsEmpty());
  Look(absl::Minutes(1));
  EXPECT_THAT(system_.undone, ElementsAre("n1"));
  EXPECT_EQ(States()["n1"], Action::STATE_UNDONE);
  const std::vector<std::string> history = History("n1");
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[0], "BEGUN by collector: n1 is slow; shown by 2 benchmarks: gemm, stream");
  EXPECT_EQ(history[3], "UNDONE by collector: taken back");
  Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 2);
}

TEST_F(ActionEngineTest, OffByDefaultAndWithoutEvidenceNothingIsDone) {
  EXPECT_FALSE(ActionEngine::Options().enabled);
  Slow("n1", /*enough=*/false);
  Look(absl::Hours(1));
  EXPECT_THAT(WhyNot("n1"), HasSubstr("evidence: shown by 1 benchmark, stream; needed are 2"));
  AddFinding("n1", "gemm");
  options_.enabled = false;
  Restart();
  Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 0);
  EXPECT_THAT(engine_->HeldBack(), IsEmpty());
  options_.enabled = true;
  Restart();
  Look();
  EXPECT_THAT(system_.done, ElementsAre("n1"));
}

TEST_F(ActionEngineTest, TheCapHoldsWhenManyAreSlow) {
  for (int i = 0; i < 8; ++i) {
    clock_.Advance(absl::Seconds(1));
    Slow(absl::StrCat("n", i));
  }
  for (int i = 0; i < 50; ++i) Look(absl::Minutes(10));
  // Who fired first.
  EXPECT_THAT(system_.done, ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(WhyNot("n7"), HasSubstr("limits.max_nodes"));
  // Places are free again a day later, once the held ones are well.
  for (const char* node : {"n0", "n1", "n2"}) Well(node);
  Look();
  Look(absl::Hours(1));
  EXPECT_EQ(system_.undone.size(), 3u);
  Look();
  EXPECT_EQ(system_.done.size(), 3u);
  Look(absl::Hours(24));
  EXPECT_EQ(system_.done.size(), 6u);
}

TEST_F(ActionEngineTest, FewerHealthyNodesThanNeededHoldEverythingBack) {
  for (int i = 0; i < 11; ++i) Slow(absl::StrCat("n", i));
  Look(absl::Hours(1));
  EXPECT_THAT(system_.done, IsEmpty());
  EXPECT_THAT(WhyNot("n0"),
              HasSubstr("limits.min_healthy: of the 20 nodes of its class 9 others are healthy"));
  Well("n10");
  Look();
  EXPECT_EQ(system_.done.size(), 3u);
}

TEST_F(ActionEngineTest, NodesThatDoNoWorkAreNotHealthy) {
  for (int i = 10; i < 20; ++i) system_.held[absl::StrCat("n", i, ".there")] = "down";
  Slow("n1");
  Look(absl::Hours(1));
  EXPECT_THAT(WhyNot("n1"), HasSubstr("limits.min_healthy"));
  system_.held.clear();
  system_.away_status = absl::UnavailableError("no answer");
  EXPECT_FALSE(engine_->RunOnce().ok());
  EXPECT_EQ(engine_->Trouble(), "no answer");
  EXPECT_THAT(system_.done, IsEmpty());
}

TEST_F(ActionEngineTest, APersonsHoldIsLeftForAsLongAsTheAlertLives) {
  system_.held["n1.there"] = "ann";
  Slow("n1");
  Look(absl::Hours(1));
  EXPECT_EQ(States()["n1"], Action::STATE_LEFT);
  EXPECT_THAT(WhyNot("n1"), HasSubstr("held by ann"));
  system_.held.clear();  // she lets it go again
  for (int i = 0; i < 100; ++i) Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 0);
  Restart();
  Look();
  EXPECT_EQ(system_.calls, 0);
  EXPECT_EQ(book_->All().size(), 1u);
}

TEST_F(ActionEngineTest, WhatAPersonLetGoOrTookOverIsLeft) {
  Slow("n1");
  Slow("n2");
  Look(absl::Hours(1));
  ASSERT_EQ(system_.done.size(), 2u);
  system_.held.erase("n1.there");
  system_.held["n2.there"] = "ann";
  Look();
  EXPECT_THAT(States(), ElementsAre(std::make_pair("n1", Action::STATE_LEFT),
                                    std::make_pair("n2", Action::STATE_LEFT)));
  Well("n1");
  Well("n2");
  Look();
  Look(absl::Hours(2));
  EXPECT_EQ(system_.held["n2.there"], "ann");
  EXPECT_THAT(system_.undone, IsEmpty());
  // Nor does another alert about them do anything for a while.
  Slow("n1");
  Look(absl::Hours(1));
  EXPECT_THAT(WhyNot("n1"), HasSubstr("left to people: somebody let it go"));
  Look(absl::Hours(24));
  EXPECT_EQ(system_.done.size(), 3u);
}

TEST_F(ActionEngineTest, APersonsHoldBetweenTheLookAndTheActIsLeft) {
  Slow("n1");
  system_.next = {ActionResult::kLeft, "drained by ann", {}};
  Look(absl::Hours(1));
  system_.next = {};
  EXPECT_EQ(States()["n1"], Action::STATE_LEFT);
  Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 1);
}

TEST_F(ActionEngineTest, AnAcknowledgedOrMutedAlertIsLeftToItsPerson) {
  Slow("n1");
  alerts_["n1"].mutable_life()->set_state(AlertLife::STATE_ACKNOWLEDGED);
  alerts_["n1"].mutable_life()->mutable_acknowledged()->set_by("ann");
  Look(absl::Hours(1));
  EXPECT_EQ(WhyNot("n1"), "acknowledged by ann");
  EXPECT_EQ(system_.calls, 0);
}

TEST_F(ActionEngineTest, ANodeStaysHeldWhileAnythingElseIsWrongWithIt) {
  Slow("n1");
  Look(absl::Hours(1));
  Slow("other");
  alerts_["other"].set_nodes(0, "n1");
  Well("n1");
  Look();
  Look(absl::Hours(2));
  EXPECT_THAT(system_.undone, IsEmpty());
  Well("other");
  Look();
  Look(absl::Hours(1));
  EXPECT_THAT(system_.undone, ElementsAre("n1"));
}

TEST_F(ActionEngineTest, TheSwitchStopsEverythingAndOutlivesTheProcess) {
  Slow("n1");
  Look(absl::Hours(1));
  Switch(true);
  Slow("n2");
  Well("n1");
  Look(absl::Hours(1));
  Restart();
  Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 1);
  Switch(false);
  Look();
  EXPECT_THAT(system_.done, ElementsAre("n1", "n2"));
  Look(absl::Minutes(30));
  EXPECT_THAT(system_.undone, ElementsAre("n1"));
}

TEST_F(ActionEngineTest, APersonTakesItBackForGood) {
  Slow("n1");
  Look(absl::Hours(1));
  const std::string id = book_->OfNode("n1").front().action_id();
  ASSERT_TRUE(engine_->TakeBack(id.substr(id.size() - 6), "ann").ok());
  Look(absl::Minutes(1));
  EXPECT_THAT(system_.undone, ElementsAre("n1"));
  EXPECT_THAT(History("n1")[2], testing::EndsWith("by ann: is to be taken back"));
  Look(absl::Hours(1));
  EXPECT_EQ(system_.done.size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->TakeBack(id, "ann")));
  EXPECT_TRUE(absl::IsNotFound(engine_->TakeBack("XXXXXX", "ann")));
}

TEST_F(ActionEngineTest, NothingIsTakenBackWhileStopped) {
  Slow("n1");
  Look(absl::Hours(1));
  Switch(true);
  const absl::Status status = engine_->TakeBack(book_->OfNode("n1").front().action_id(), "ann");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  Look(absl::Hours(1));
  EXPECT_EQ(system_.held.size(), 1u);
}

TEST_F(ActionEngineTest, ACrashBetweenIntentAndAnswerLosesNoHeldNode) {
  Slow("n1");
  // Done, but its answer is lost.
  system_.next = {ActionResult::kAgain, "no answer", {}};
  system_.does_all_the_same = true;
  Look(absl::Hours(1));
  EXPECT_EQ(States()["n1"], Action::STATE_BEGUN);
  Restart();
  system_.next = {};
  Look(absl::Minutes(10));
  EXPECT_EQ(States()["n1"], Action::STATE_HELD);
  Well("n1");
  Look();
  Look(absl::Hours(1));
  EXPECT_THAT(system_.held, IsEmpty());
  EXPECT_EQ(book_->All().size(), 1u);
}

TEST_F(ActionEngineTest, WhatMayHaveBeenDoneIsTakenBackWhenTheAlertIsOver) {
  Slow("n1");
  system_.next = {ActionResult::kAgain, "no answer", {}};
  system_.does_all_the_same = true;
  Look(absl::Hours(1));
  system_.next = {};
  Well("n1");
  Look(absl::Minutes(10));
  EXPECT_THAT(system_.held, IsEmpty());
  EXPECT_EQ(States()["n1"], Action::STATE_UNDONE);
}

TEST_F(ActionEngineTest, RepeatsBackOffAndRefusalsWait) {
  Slow("n1");
  system_.next = {ActionResult::kAgain, "no answer", {}};
  for (int i = 0; i < 60; ++i) Look(absl::Minutes(1));
  EXPECT_GT(system_.calls, 4);
  EXPECT_LT(system_.calls, 12);
  // The same words are one entry of the history.
  EXPECT_EQ(History("n1").size(), 2u);
  system_.next = {ActionResult::kRefused, "no right to", {}};
  Look(absl::Minutes(10));
  EXPECT_EQ(States()["n1"], Action::STATE_REFUSED);
  const int calls = system_.calls;
  Look(absl::Minutes(30));
  EXPECT_THAT(WhyNot("n1"), HasSubstr("refused: no right to"));
  EXPECT_EQ(system_.calls, calls);
  system_.next = {};
  Look(absl::Minutes(31));
  EXPECT_THAT(system_.done, ElementsAre("n1"));
}

TEST_F(ActionEngineTest, ADryRunTouchesNothingAndCountsAsTheRealOneWould) {
  options_.dry_run = true;
  Restart();
  for (int i = 0; i < 8; ++i) Slow(absl::StrCat("n", i));
  Look(absl::Hours(1));
  Look(absl::Hours(1));
  EXPECT_EQ(system_.calls, 0);
  EXPECT_EQ(book_->All().size(), 3u);
  EXPECT_EQ(std::set<Action::State>({Action::STATE_HELD}).count(States().begin()->second), 1u);
  // Then in earnest: what was tried on paper is over, and uses nothing up.
  options_.dry_run = false;
  Restart();
  Look();
  EXPECT_EQ(system_.done.size(), 3u);
}

TEST_F(ActionEngineTest, TurnedToADryRunItTouchesNotEvenWhatItHolds) {
  Slow("n1");
  Look(absl::Hours(1));
  options_.dry_run = true;
  Restart();
  Well("n1");
  Look();
  Look(absl::Hours(5));
  EXPECT_EQ(system_.held.size(), 1u);
  EXPECT_EQ(States()["n1"], Action::STATE_HELD);
}

TEST_F(ActionEngineTest, ARuleThatIsGoneLeavesItsNodesAsTheyAre) {
  Slow("n1");
  Look(absl::Hours(1));
  options_.rules = {};
  Restart();
  Well("n1");
  Look();
  Look(absl::Hours(5));
  EXPECT_EQ(system_.held.size(), 1u);
  EXPECT_THAT(book_->All()[0].note(), HasSubstr("rule drain is not configured any more"));
}

// People, crashes, lost answers, stops and alerts at random: a node that a person holds is never touched, no
// more are held than the cap allows, and once all is well nothing is left held.
TEST_F(ActionEngineTest, HoldsItsPromisesOverRandomLives) {
  for (uint32_t seed = 1; seed <= 15; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&rng](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(rng);
    };
    alerts_.clear();
    system_ = FakeExecutor();
    clock_.Advance(absl::Hours(24 * 40));
    Restart();
    std::set<std::string> persons;
    for (int step = 0; step < 60; ++step) {
      const std::string node = absl::StrCat("n", pick(0, 19));
      const std::string target = absl::StrCat(node, ".there");
      switch (pick(0, 8)) {
        case 0:
        case 1:
        case 2:
          if (!alerts_.contains(node) || alerts_[node].life().state() == AlertLife::STATE_RESOLVED)
            Slow(node);
          break;
        case 3:
          if (alerts_.contains(node)) Well(node);
          break;
        case 4:
          system_.held[target] = "ann";
          persons.insert(target);
          break;
        case 5:
          system_.held.erase(target);
          persons.erase(target);
          break;
        case 6:
          system_.next = {pick(0, 1) == 0 ? ActionResult::kAgain : ActionResult::kRefused, "trouble", {}};
          system_.does_all_the_same = system_.next.kind == ActionResult::kAgain && pick(0, 1) == 0;
          break;
        case 7:
          system_.next = {};
          Restart();
          break;
        default:
          Switch(pick(0, 2) == 0);
      }
      // The fake's Do must not take a node out of a person's hands either.
      if (system_.does_all_the_same && !persons.empty()) system_.does_all_the_same = false;
      Look(absl::Minutes(pick(1, 240)));
      size_t ours = 0;
      for (const auto& [held, holder] : system_.held) ours += holder.starts_with("fleetmark ") ? 1 : 0;
      ASSERT_LE(ours, options_.limits.max_nodes) << "seed " << seed;
      for (const std::string& person : persons) ASSERT_EQ(system_.held[person], "ann") << "seed " << seed;
    }
    system_.next = {};
    Switch(false);
    for (auto& [node, alert] : alerts_) Well(node);
    for (int i = 0; i < 20; ++i) Look(absl::Minutes(11));
    for (const auto& [held, holder] : system_.held) ASSERT_EQ(holder, "ann") << held << ", seed " << seed;
    for (const Action& action : book_->All()) ASSERT_FALSE(IsActive(action)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fleetmark::collector
