#include "collector/alert/alert_life.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

using v1::AlertLife;
using v1::Notice;

class AlertLifeTest : public testing::Test {
 protected:
  AlertLifeTest() {
    firing_.kind = AlertCondition::kFiring;
    firing_.receivers = {"ops"};
    pending_ = firing_;
    pending_.kind = AlertCondition::kPending;
    clear_ = firing_;
    clear_.kind = AlertCondition::kClear;
    clear_.why_clear = "as before again";
  }

  // The reasons of the notices that are due after `later`.
  std::vector<Notice::Reason> Step(const AlertCondition& condition,
                                   absl::Duration later = absl::ZeroDuration()) {
    now_ += later;
    last_ = StepAlert(condition, policy_, now_, &life_);
    std::vector<Notice::Reason> out;
    for (const DueNotice& due : last_.notices) out.push_back(due.reason);
    return out;
  }
  bool Recorded(v1::AlertChange::Kind kind) const {
    for (const v1::AlertChange& change : last_.changes) {
      if (change.kind() == kind) return true;
    }
    return false;
  }
  void FireAndTell() {
    Step(firing_);
    ASSERT_EQ(Step(firing_, policy_.wait), std::vector{Notice::REASON_FIRING});
  }
  AlertStep Acknowledge() {
    v1::Acknowledgement by;
    by.set_by("ann");
    AlertStep step;
    EXPECT_TRUE(AcknowledgeAlert(by, now_, &life_, &step).ok());
    return step;
  }
  static v1::AlertMute Mute(const char* by) {
    v1::AlertMute mute;
    mute.set_kind(v1::AlertMute::KIND_SILENCE);
    mute.set_by(by);
    return mute;
  }

  const std::vector<Notice::Reason> none_;
  AlertPolicy policy_;
  AlertCondition firing_, pending_, clear_;
  absl::Time now_ = absl::FromUnixSeconds(1'790'000'000);
  AlertLife life_;
  AlertStep last_;
};

TEST_F(AlertLifeTest, WhatAwaitsConfirmationIsToldToNobody) {
  EXPECT_EQ(Step(pending_), none_);
  EXPECT_EQ(life_.state(), AlertLife::STATE_PENDING);
  EXPECT_EQ(Step(pending_, absl::Hours(2)), none_);
  EXPECT_EQ(Step(clear_, absl::Hours(1)), none_);
  EXPECT_EQ(life_.state(), AlertLife::STATE_RESOLVED);
  EXPECT_EQ(life_.resolution(), "as before again");
}

TEST_F(AlertLifeTest, AConfirmationThatDoesNotComeIsNotWaitedForForEver) {
  Step(pending_);
  EXPECT_EQ(Step(pending_, policy_.pending_limit), none_);
  EXPECT_EQ(life_.state(), AlertLife::STATE_RESOLVED);
  Step(pending_, absl::Hours(1));  // still not confirmed: it stays away
  EXPECT_EQ(life_.state(), AlertLife::STATE_RESOLVED);
  Step(firing_, absl::Hours(1));  // confirmed after all
  EXPECT_EQ(life_.state(), AlertLife::STATE_FIRING);
}

TEST_F(AlertLifeTest, AFiringIsToldOnceAfterTheWaitAndItsEndOnce) {
  EXPECT_EQ(Step(firing_), none_);
  EXPECT_EQ(Step(firing_, policy_.wait - absl::Seconds(1)), none_);
  EXPECT_EQ(Step(firing_, absl::Seconds(1)), std::vector{Notice::REASON_FIRING});
  EXPECT_EQ(Step(firing_, absl::Hours(1)), none_);
  EXPECT_EQ(Step(clear_, absl::Hours(1)), none_);
  EXPECT_EQ(Step(clear_, policy_.resolve_after - absl::Seconds(1)), none_);
  EXPECT_EQ(Step(clear_, absl::Seconds(1)), std::vector{Notice::REASON_RESOLVED});
  EXPECT_EQ(last_.notices[0].receivers, std::vector<std::string>{"ops"});
  EXPECT_EQ(Step(clear_, absl::Hours(1)), none_);
}

TEST_F(AlertLifeTest, WhatIsKnownToBeWholeIsToldAtOnce) {
  firing_.whole = true;
  EXPECT_EQ(Step(firing_), std::vector{Notice::REASON_FIRING});
}

TEST_F(AlertLifeTest, WhatGoesAwayWithinTheWaitIsNeverTold) {
  Step(firing_);
  EXPECT_EQ(Step(clear_, absl::Seconds(30)), none_);
  EXPECT_EQ(Step(clear_, absl::Hours(1)), none_);
  EXPECT_EQ(life_.state(), AlertLife::STATE_RESOLVED);
}

TEST_F(AlertLifeTest, AShortClearingIsNoEnd) {
  FireAndTell();
  Step(clear_, absl::Hours(1));
  EXPECT_EQ(Step(firing_, absl::Minutes(5)), none_);
  EXPECT_EQ(life_.firings(), 1u);
  Step(clear_, absl::Minutes(1));
  EXPECT_EQ(Step(clear_, policy_.resolve_after - absl::Seconds(1)), none_);  // counted anew
}

TEST_F(AlertLifeTest, RepeatsUntilSomebodyAcknowledges) {
  FireAndTell();
  EXPECT_EQ(Step(firing_, policy_.repeat), std::vector{Notice::REASON_REPEAT});
  EXPECT_EQ(Step(firing_, policy_.repeat - absl::Seconds(1)), none_);
  const AlertStep step = Acknowledge();
  ASSERT_EQ(step.notices.size(), 1u);
  EXPECT_EQ(step.notices[0].reason, Notice::REASON_ACKNOWLEDGED);
  EXPECT_EQ(life_.state(), AlertLife::STATE_ACKNOWLEDGED);
  EXPECT_EQ(Step(firing_, 10 * policy_.repeat), none_);
  Step(clear_);
  EXPECT_EQ(Step(clear_, policy_.resolve_after), std::vector{Notice::REASON_RESOLVED});
}

TEST_F(AlertLifeTest, AnAcknowledgementEndsWithTheFiring) {
  FireAndTell();
  Acknowledge();
  Step(clear_);
  Step(clear_, policy_.resolve_after);
  Step(firing_, absl::Hours(1));
  EXPECT_EQ(life_.state(), AlertLife::STATE_FIRING);
  EXPECT_TRUE(Recorded(v1::AlertChange::KIND_REOPENED));
  EXPECT_EQ(Step(firing_, policy_.wait), std::vector{Notice::REASON_FIRING});
}

TEST_F(AlertLifeTest, OnlyWhatFiresCanBeAcknowledged) {
  AlertStep step;
  EXPECT_FALSE(AcknowledgeAlert({}, now_, &life_, &step).ok());
  Step(pending_);
  EXPECT_FALSE(AcknowledgeAlert({}, now_, &life_, &step).ok());
  EXPECT_FALSE(UnacknowledgeAlert("ann", now_, &life_, &step).ok());
  EXPECT_TRUE(step.changes.empty());
}

TEST_F(AlertLifeTest, WhatIsMutedIsToldWhenTheMuteEnds) {
  AlertCondition muted = firing_;
  muted.mutes = {Mute("s1")};
  Step(muted);
  EXPECT_EQ(life_.state(), AlertLife::STATE_SILENCED);
  EXPECT_EQ(Step(muted, absl::Hours(50)), none_);
  EXPECT_EQ(Step(firing_, absl::Hours(1)), std::vector{Notice::REASON_FIRING});
  EXPECT_TRUE(Recorded(v1::AlertChange::KIND_UNMUTED));
}

TEST_F(AlertLifeTest, WhoWasToldHearsOfTheEndThoughItIsMuted) {
  FireAndTell();
  AlertCondition muted = firing_;
  muted.mutes = {Mute("s1")};
  EXPECT_EQ(Step(muted, absl::Hours(50)), none_);
  clear_.mutes = muted.mutes;
  Step(clear_);
  EXPECT_EQ(Step(clear_, policy_.resolve_after), std::vector{Notice::REASON_RESOLVED});
}

TEST_F(AlertLifeTest, GrowthIsToldAlsoWhenItIsAcknowledged) {
  FireAndTell();
  Acknowledge();
  firing_.size = 2;
  EXPECT_EQ(Step(firing_), none_);  // told a moment ago
  EXPECT_EQ(Step(firing_, policy_.update_interval), std::vector{Notice::REASON_GREW});
  firing_.size = 3;
  EXPECT_EQ(Step(firing_, absl::Hours(1)), none_);  // not twice as many
  firing_.severity = v1::ALERT_SEVERITY_CRITICAL;
  EXPECT_EQ(Step(firing_, absl::Hours(1)), std::vector{Notice::REASON_GREW});
}

TEST_F(AlertLifeTest, EscalatesOnceWhenNobodyAcknowledges) {
  firing_.escalate_after = absl::Minutes(30);
  firing_.escalate_to = {"boss"};
  FireAndTell();
  EXPECT_EQ(Step(firing_, absl::Minutes(30)), std::vector{Notice::REASON_ESCALATED});
  EXPECT_EQ(last_.notices[0].receivers, std::vector<std::string>{"boss"});
  EXPECT_EQ(Step(firing_, absl::Hours(2)), none_);
  clear_.escalate_to = firing_.escalate_to;
  Step(clear_);
  ASSERT_EQ(Step(clear_, policy_.resolve_after), std::vector{Notice::REASON_RESOLVED});
  EXPECT_EQ(last_.notices[0].receivers, (std::vector<std::string>{"ops", "boss"}));
}

TEST_F(AlertLifeTest, AReceiverWhoseHoursBeginIsToldThen) {
  AlertCondition night = firing_;
  night.receivers = {};
  Step(night);
  EXPECT_EQ(Step(night, absl::Hours(8)), none_);
  EXPECT_EQ(Step(firing_, absl::Hours(1)), std::vector{Notice::REASON_FIRING});
  firing_.receivers = {"ops", "day"};
  EXPECT_EQ(Step(firing_, absl::Hours(1)), std::vector{Notice::REASON_FIRING});
  EXPECT_EQ(last_.notices[0].receivers, std::vector<std::string>{"day"});
}

TEST_F(AlertLifeTest, WhatFlapsIsResolvedOnlyAfterLongQuiet) {
  FireAndTell();
  for (int i = 0; i < policy_.flap_reopenings; ++i) {
    EXPECT_FALSE(life_.flapping());
    Step(clear_, absl::Minutes(1));
    EXPECT_EQ(Step(clear_, policy_.resolve_after), std::vector{Notice::REASON_RESOLVED});
    Step(firing_, absl::Minutes(5));
    EXPECT_EQ(Step(firing_, policy_.wait), std::vector{Notice::REASON_FIRING});
  }
  EXPECT_TRUE(life_.flapping());
  for (int i = 0; i < 20; ++i) {  // from now on it is one
    EXPECT_EQ(Step(clear_, absl::Minutes(20)), none_);
    EXPECT_EQ(Step(firing_, absl::Minutes(20)), none_);
  }
  Step(clear_);
  EXPECT_EQ(Step(clear_, policy_.flap_quiet), std::vector{Notice::REASON_RESOLVED});
  EXPECT_FALSE(life_.flapping());
}

TEST_F(AlertLifeTest, AClockThatIsSetBackStopsNothing) {
  FireAndTell();
  now_ -= absl::Hours(24 * 365);
  EXPECT_EQ(Step(firing_), none_);
  EXPECT_EQ(Step(firing_, policy_.repeat), std::vector{Notice::REASON_REPEAT});
  Step(clear_);
  now_ -= absl::Hours(24 * 365);
  Step(clear_);
  EXPECT_EQ(Step(clear_, policy_.resolve_after), std::vector{Notice::REASON_RESOLVED});
}

// --- any life ------------------------------------------------------------------------------------------

// What a receiver heard, as a person would count it.
struct Heard {
  bool open = false;  // told that it fires, and not that it ended
  absl::Time last_repeat = absl::InfinitePast();
};

bool IsLegal(AlertLife::State from, AlertLife::State to) {
  if (from == to) return true;
  switch (from) {
    case AlertLife::STATE_UNSPECIFIED:
    case AlertLife::STATE_RESOLVED:
      return to != AlertLife::STATE_UNSPECIFIED;
    case AlertLife::STATE_PENDING:
      return to != AlertLife::STATE_UNSPECIFIED;
    default:  // firing in one of its three ways
      return to != AlertLife::STATE_UNSPECIFIED && to != AlertLife::STATE_PENDING;
  }
}

class AnyLife {
 public:
  explicit AnyLife(uint64_t seed) : rng_(seed) {
    policy_.flap_reopenings = 2 + Draw(3);
    condition_.receivers = {"ops"};
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) Act();
    Settle(AlertCondition::kFiring);
    if (life_.state() != AlertLife::STATE_UNSPECIFIED) {
      for (const std::string& receiver : condition_.receivers) {
        EXPECT_TRUE(heard_[receiver].open) << "lost: it fires, and " << receiver << " does not know";
      }
    }
    Settle(AlertCondition::kClear);
    EXPECT_TRUE(IsResolved(life_));
    for (const auto& [receiver, heard] : heard_)
      EXPECT_FALSE(heard.open) << receiver << " never heard of the end";
  }

 private:
  int Draw(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }

  void Act() {
    switch (Draw(12)) {
      case 0:
        condition_.kind = static_cast<AlertCondition::Kind>(Draw(3));
        break;
      case 1:
        condition_.mutes.clear();
        if (Draw(2) == 0) condition_.mutes.emplace_back().set_by(std::to_string(Draw(3)));
        break;
      case 2:
        Acknowledge();
        break;
      case 3:
        now_ += absl::Hours(1) * (Draw(2) == 0 ? -Draw(100) : Draw(100));  // somebody sets the clock
        stepped_ = true;
        break;
      case 4:
        Restart();
        break;
      case 5:
        condition_.size = static_cast<uint32_t>(1 + Draw(40));
        condition_.severity = static_cast<v1::AlertSeverity>(1 + Draw(3));
        condition_.whole = Draw(2) == 0;
        break;
      case 6:
        condition_.receivers = {"ops"};
        if (Draw(2) == 0) condition_.receivers.push_back("day");
        condition_.escalate_after = Draw(2) == 0 ? absl::Minutes(30) : absl::ZeroDuration();
        condition_.escalate_to = {"boss"};
        break;
      default:
        now_ += absl::Seconds(1 + Draw(Draw(2) == 0 ? 120 : 4000));
    }
    Step();
  }

  void Acknowledge() {
    AlertStep step;
    const AlertLife before = life_;
    if (Draw(3) == 0) {
      const bool undone = UnacknowledgeAlert("ann", now_, &life_, &step).ok();
      EXPECT_EQ(undone, IsFiring(before) && before.has_acknowledged());
    } else {
      v1::Acknowledgement by;
      by.set_by("ann");
      const bool taken = AcknowledgeAlert(by, now_, &life_, &step).ok();
      EXPECT_EQ(taken, IsFiring(before));
    }
    Check(before, step);
  }

  // A new process knows what was stored, and nothing else.
  void Restart() {
    const std::string stored = life_.SerializeAsString();
    life_ = AlertLife();
    ASSERT_TRUE(life_.ParseFromString(stored));
  }

  void Step() {
    const AlertLife before = life_;
    if (before.state() == AlertLife::STATE_UNSPECIFIED && condition_.kind == AlertCondition::kClear) return;
    Check(before, StepAlert(condition_, policy_, now_, &life_));
    // The same at the same time once more is no news.
    const AlertLife after = life_;
    const AlertStep again = StepAlert(condition_, policy_, now_, &life_);
    for (const DueNotice& due : again.notices) {
      EXPECT_EQ(due.reason, Notice::REASON_ESCALATED) << "told twice at one time";
    }
    if (!again.notices.empty()) Check(after, again);
  }

  void Check(const AlertLife& before, const AlertStep& step) {
    EXPECT_TRUE(IsLegal(before.state(), life_.state()) || PassedThroughResolved(step))
        << before.state() << " to " << life_.state();
    uint64_t sequence = before.last_sequence();
    for (const v1::AlertChange& change : step.changes) EXPECT_EQ(change.sequence(), ++sequence);
    EXPECT_EQ(life_.last_sequence(), sequence);
    EXPECT_TRUE(life_.state() == before.state() || !step.changes.empty()) << "a change without history";
    uint64_t number = before.notices();
    for (const DueNotice& due : step.notices) {
      EXPECT_EQ(due.number, ++number);
      std::set<std::string> once(due.receivers.begin(), due.receivers.end());
      EXPECT_EQ(once.size(), due.receivers.size());
      for (const std::string& receiver : due.receivers) Hear(receiver, due.reason);
    }
  }

  static bool PassedThroughResolved(const AlertStep& step) {
    for (const v1::AlertChange& change : step.changes) {
      if (change.kind() == v1::AlertChange::KIND_RESOLVED) return true;
    }
    return false;
  }

  void Hear(const std::string& receiver, Notice::Reason reason) {
    Heard& heard = heard_[receiver];
    switch (reason) {
      case Notice::REASON_FIRING:
        EXPECT_FALSE(heard.open) << receiver << " was told twice that it fires";
        EXPECT_TRUE(life_.mutes().empty());
        EXPECT_FALSE(life_.has_acknowledged());
        heard.open = true;
        heard.last_repeat = now_;
        break;
      case Notice::REASON_RESOLVED:
        EXPECT_TRUE(heard.open) << receiver << " was told the end of what it did not know";
        heard.open = false;
        break;
      case Notice::REASON_ESCALATED:
        heard.open = true;
        heard.last_repeat = now_;
        break;
      case Notice::REASON_REPEAT:
        EXPECT_TRUE(heard.open);
        EXPECT_TRUE(life_.mutes().empty());
        EXPECT_FALSE(life_.has_acknowledged());
        EXPECT_TRUE(stepped_ || now_ - heard.last_repeat >= policy_.repeat) << "repeated too soon";
        heard.last_repeat = now_;
        break;
      default:
        EXPECT_TRUE(heard.open) << receiver << " was told of what it did not know";
    }
  }

  // Nothing happens any more but time.
  void Settle(AlertCondition::Kind kind) {
    condition_.kind = kind;
    condition_.mutes.clear();
    AlertStep undone;
    const AlertLife before = life_;
    if (UnacknowledgeAlert("ann", now_, &life_, &undone).ok()) Check(before, undone);
    for (int i = 0; i < 40; ++i) {
      now_ += absl::Minutes(20);
      Step();
    }
  }

  std::mt19937_64 rng_;
  AlertPolicy policy_;
  AlertCondition condition_;
  absl::Time now_ = absl::FromUnixSeconds(1'790'000'000);
  bool stepped_ = false;
  AlertLife life_;
  std::map<std::string, Heard> heard_;
};

TEST(AnyAlertLife, LosesNothingDoublesNothingAndIsAlwaysInALegalState) {
  for (uint64_t seed = 1; seed <= 2000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AnyLife(seed).Run(200);
  }
}

}  // namespace
}  // namespace fleetmark::collector
