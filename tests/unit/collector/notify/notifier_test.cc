// The queue of each receiver, with senders that do as they are told.
#include "collector/notify/notifier.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "common/obs/metrics.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::collector {
namespace {

// Answers by `answer_`; remembers what it was given.
class FakeSender final : public NoticeSender {
 public:
  SendResult Send(const v1::Notice& notice, absl::Time) override {
    MutexLock lock(mu_);
    attempts_.push_back(notice.notice_id());
    changed_.NotifyAll();
    while (hanging_) changed_.Wait(mu_);
    const auto it = answers_.find(notice.notice_id());
    return it == answers_.end() ? all_ : it->second;
  }
  absl::Duration RefreshInterval() const override { return refresh_; }
  SendResult Refresh(const std::vector<std::shared_ptr<const v1::Alert>>&, absl::Time) override {
    MutexLock lock(mu_);
    ++refreshes_;
    changed_.NotifyAll();
    return all_;
  }
  std::string kind() const override { return "fake"; }

  void SetAll(SendResult result) {
    MutexLock lock(mu_);
    all_ = std::move(result);
  }
  void Set(const std::string& id, SendResult result) {
    MutexLock lock(mu_);
    answers_[id] = std::move(result);
  }
  void Hang(bool on) {
    MutexLock lock(mu_);
    hanging_ = on;
    changed_.NotifyAll();
  }
  std::vector<std::string> Await(size_t attempts) {
    MutexLock lock(mu_);
    while (attempts_.size() < attempts) changed_.Wait(mu_);
    return attempts_;
  }
  void AwaitRefreshes(size_t count) {
    MutexLock lock(mu_);
    while (refreshes_ < count) changed_.Wait(mu_);
  }

  absl::Duration refresh_ = absl::InfiniteDuration();

 private:
  Mutex mu_;
  CondVar changed_;
  bool hanging_ ABSL_GUARDED_BY(mu_) = false;
  size_t refreshes_ ABSL_GUARDED_BY(mu_) = 0;
  SendResult all_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, SendResult> answers_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> attempts_ ABSL_GUARDED_BY(mu_);
};

class NotifierTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& names, absl::Duration refresh = absl::InfiniteDuration()) {
    std::vector<Notifier::Receiver> receivers;
    for (const std::string& name : names) {
      auto sender = std::make_unique<FakeSender>();
      sender->refresh_ = refresh;
      senders_[name] = sender.get();
      receivers.push_back({name, std::move(sender)});
    }
    Notifier::Options options;
    options.clock = &clock_;
    options.metrics = &metrics_;
    options.finish = [this](const StoredNotice& stored, bool delivered, const std::string& text) {
      MutexLock lock(mu_);
      if (fail_to_store_ > 0) {
        --fail_to_store_;
        return absl::UnavailableError("disk");
      }
      finished_.push_back(absl::StrCat(delivered ? "+" : "-", stored.notice.notice_id()));
      texts_.push_back(text);
      changed_.NotifyAll();
      return absl::OkStatus();
    };
    options.told_to = [](const std::string&) { return std::vector<std::shared_ptr<const v1::Alert>>(); };
    notifier_ = std::make_unique<Notifier>(std::move(options), std::move(receivers));
    notifier_->Start();
  }
  ~NotifierTest() override {
    for (auto& [name, sender] : senders_) sender->Hang(false);
    if (notifier_ != nullptr) notifier_->Stop(nullptr);
  }

  StoredNotice Make(const std::string& receiver, const std::string& alert, uint64_t number) {
    StoredNotice stored;
    stored.key = {receiver, alert, number};
    stored.notice.set_notice_id(absl::StrCat(alert, number));
    stored.notice.set_made_unix_ns(absl::ToUnixNanos(clock_.Now()) + static_cast<int64_t>(made_++));
    return stored;
  }
  void Take(std::vector<StoredNotice> notices) { notifier_->Take(std::move(notices)); }
  std::vector<std::string> AwaitFinished(size_t count) {
    MutexLock lock(mu_);
    while (finished_.size() < count) changed_.Wait(mu_);
    return finished_;
  }
  // A notice still counts as waiting for a moment after it is stored as sent.
  void AwaitWaiting(size_t receiver, size_t count) {
    while (notifier_->Status()[receiver].waiting() != count) std::this_thread::yield();
  }
  // Lets time pass, pause by pause, until the sender was asked at least so often and the worker waits again.
  std::vector<std::string> AdvanceUntil(FakeSender& sender, size_t attempts) {
    std::vector<std::string> made = sender.Await(1);
    while (true) {
      clock_.AwaitWaiters(1);
      made = sender.Await(made.size());
      if (made.size() >= attempts) return made;
      clock_.Advance(clock_.NextDeadline() - clock_.Mono());
      made = sender.Await(made.size() + 1);
    }
  }

  FakeClock clock_;
  Metrics metrics_;
  std::map<std::string, FakeSender*> senders_;
  std::unique_ptr<Notifier> notifier_;
  uint64_t made_ = 0;
  Mutex mu_;
  CondVar changed_;
  int fail_to_store_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::string> finished_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> texts_ ABSL_GUARDED_BY(mu_);
};

TEST_F(NotifierTest, SendsInTheOrderInWhichTheyWereMade) {
  Start({"ops"});
  Take({Make("ops", "A", 1), Make("ops", "B", 1), Make("ops", "A", 2)});
  EXPECT_EQ(AwaitFinished(3), (std::vector<std::string>{"+A1", "+B1", "+A2"}));
  AwaitWaiting(0, 0);
  EXPECT_EQ(notifier_->Status()[0].delivered(), 3u);
}

TEST_F(NotifierTest, AReceiverThatHangsHoldsNobodyElseUp) {
  Start({"slow", "fast"});
  senders_["slow"]->Hang(true);
  Take({Make("slow", "A", 1), Make("fast", "A", 1)});
  senders_["slow"]->Await(1);
  EXPECT_EQ(AwaitFinished(1), std::vector<std::string>{"+A1"});
  Take({Make("fast", "B", 1)});
  EXPECT_EQ(AwaitFinished(2).back(), "+B1");
  AwaitWaiting(1, 0);
  EXPECT_EQ(notifier_->Status()[0].waiting(), 1u);
}

TEST_F(NotifierTest, OneAlertThatFailsHoldsNoOtherUpAndKeepsItsOrder) {
  Start({"ops"});
  senders_["ops"]->Set("A1", {SendResult::kAgain, "500", {}});
  Take({Make("ops", "A", 1), Make("ops", "A", 2), Make("ops", "B", 1)});
  EXPECT_EQ(AwaitFinished(1), std::vector<std::string>{"+B1"});
  senders_["ops"]->Set("A1", {});
  AdvanceUntil(*senders_["ops"], 4);
  EXPECT_EQ(AwaitFinished(3), (std::vector<std::string>{"+B1", "+A1", "+A2"}));
}

TEST_F(NotifierTest, WhatCantBeReachedIsTriedAgainLaterAndLater) {
  Start({"ops"});
  senders_["ops"]->SetAll({SendResult::kUnreachable, "no route", {}});
  Take({Make("ops", "A", 1), Make("ops", "B", 1)});
  AdvanceUntil(*senders_["ops"], 8);
  EXPECT_EQ(notifier_->Status()[0].trouble(), "no route");
  EXPECT_EQ(notifier_->Status()[0].waiting(), 2u);
  senders_["ops"]->SetAll({});
  AdvanceUntil(*senders_["ops"], 10);
  std::vector<std::string> finished = AwaitFinished(2);
  std::sort(finished.begin(), finished.end());
  EXPECT_EQ(finished, (std::vector<std::string>{"+A1", "+B1"}));
  EXPECT_EQ(notifier_->Status()[0].trouble(), "");
}

TEST_F(NotifierTest, TheReceiversOwnPauseIsKept) {
  Start({"ops"});
  senders_["ops"]->SetAll({SendResult::kAgain, "429", absl::Minutes(10)});
  Take({Make("ops", "A", 1), Make("ops", "B", 1)});
  senders_["ops"]->Await(1);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(senders_["ops"]->Await(1).size(), 1u);  // nor is the other alert sent
  EXPECT_GE(clock_.NextDeadline() - clock_.Mono(), absl::Minutes(10));
}

TEST_F(NotifierTest, WhatIsRefusedForGoodIsGivenUpAtOnce) {
  Start({"ops"});
  senders_["ops"]->Set("A1", {SendResult::kRefused, "HTTP status 400", {}});
  Take({Make("ops", "A", 1), Make("ops", "A", 2)});
  EXPECT_EQ(AwaitFinished(2), (std::vector<std::string>{"-A1", "+A2"}));
  MutexLock lock(mu_);
  EXPECT_EQ(texts_[0], "refused: HTTP status 400");
}

TEST_F(NotifierTest, WhatIsTooOldIsGivenUp) {
  Start({"ops"});
  senders_["ops"]->SetAll({SendResult::kUnreachable, "gone", {}});
  Take({Make("ops", "A", 1)});
  senders_["ops"]->Await(1);
  clock_.StepWallClock(absl::Hours(100));  // a clock that jumps gives nothing up by itself
  AdvanceUntil(*senders_["ops"], 2);
  {
    MutexLock lock(mu_);
    EXPECT_TRUE(finished_.empty());
  }
  AdvanceUntil(*senders_["ops"], 3);
  EXPECT_EQ(AwaitFinished(1), std::vector<std::string>{"-A1"});
}

TEST_F(NotifierTest, WhatCouldNotBeStoredAsSentIsSentAgainWithTheSameId) {
  Start({"ops"});
  {
    MutexLock lock(mu_);
    fail_to_store_ = 1;
  }
  Take({Make("ops", "A", 1)});
  EXPECT_EQ(AdvanceUntil(*senders_["ops"], 2), (std::vector<std::string>{"A1", "A1"}));
  EXPECT_EQ(AwaitFinished(1), std::vector<std::string>{"+A1"});
}

TEST_F(NotifierTest, RefreshesAtItsIntervalAlsoWhileItFails) {
  Start({"am"}, absl::Minutes(1));
  senders_["am"]->AwaitRefreshes(1);
  senders_["am"]->SetAll({SendResult::kUnreachable, "down", {}});
  for (size_t i = 2; i < 5; ++i) {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Minutes(1));
    senders_["am"]->AwaitRefreshes(i);
  }
}

TEST_F(NotifierTest, StopLeavesWhatWaits) {
  Start({"ops"});
  senders_["ops"]->SetAll({SendResult::kUnreachable, "gone", {}});
  Take({Make("ops", "A", 1)});
  senders_["ops"]->Await(1);
  std::atomic<bool> cancelled = false;
  notifier_->Stop(&cancelled);
  EXPECT_TRUE(cancelled);
  MutexLock lock(mu_);
  EXPECT_TRUE(finished_.empty());
}

}  // namespace
}  // namespace fleetmark::collector
