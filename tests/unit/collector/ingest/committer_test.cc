#include "collector/ingest/committer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/ingest/registration.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Stands in for the store: each commit waits until the test lets it go, and returns what the test set.
class GatedCommit {
 public:
  absl::StatusOr<CommitResult> operator()(absl::Span<const SenderRecords> batch) {
    MutexLock lock(mu_);
    sizes_.push_back(batch.size());
    changed_.NotifyAll();
    while (permits_ == 0) changed_.Wait(mu_);
    if (permits_ > 0) --permits_;
    for (const SenderRecords& sender : batch) {
      if (sender.node == bad_node_) return absl::InvalidArgumentError("bad");
    }
    if (!status_.ok()) return status_;
    CommitResult result;
    for (const SenderRecords& sender : batch) result.runs += sender.records.size();
    return result;
  }
  void Allow(int commits) {
    MutexLock lock(mu_);
    permits_ += commits;
    changed_.NotifyAll();
  }
  void AllowAll() {
    MutexLock lock(mu_);
    permits_ = -1;
    changed_.NotifyAll();
  }
  void AwaitCommits(size_t count) {
    MutexLock lock(mu_);
    while (sizes_.size() < count) changed_.Wait(mu_);
  }
  void SetStatus(absl::Status status) {
    MutexLock lock(mu_);
    status_ = std::move(status);
  }
  void SetBadNode(const std::string& node) {
    MutexLock lock(mu_);
    bad_node_ = node;
  }
  std::vector<size_t> sizes() {
    MutexLock lock(mu_);
    return sizes_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int permits_ ABSL_GUARDED_BY(mu_) = 0;  // -1: any number
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::string bad_node_ ABSL_GUARDED_BY(mu_) = "none";
  std::vector<size_t> sizes_ ABSL_GUARDED_BY(mu_);
};

class CommitterTest : public ::testing::Test {
 protected:
  void Start(Committer::Options options = {}) {
    committer_ = std::make_unique<Committer>(
        options, [this](absl::Span<const SenderRecords> batch) { return commit_(batch); },
        [this](const CommitResult& result) { committed_runs_ += result.runs; }, clock_, metrics_);
  }
  ~CommitterTest() override { commit_.AllowAll(); }

  // Outcomes are written by the committer's thread: to be read after Finish.
  bool Offer(const std::string& node, const std::shared_ptr<Committer::Lane>& lane, size_t bytes = 1) {
    Committer::Offer offer;
    offer.lane = lane;
    offer.records = {node, kEpoch, {RunRecord(1)}};
    offer.bytes = bytes;
    offer.done = [this, node](const absl::Status& status) {
      outcomes_.push_back(node + " " + absl::StatusCodeToString(status.code()));
    };
    return committer_->TryOffer(std::move(offer), [this, node] { outcomes_.push_back(node + " room"); });
  }
  static std::shared_ptr<Committer::Lane> NewLane() { return std::make_shared<Committer::Lane>(); }

  std::vector<std::string> Finish() {
    commit_.AllowAll();
    committer_->Stop();
    return outcomes_;
  }

  FakeClock clock_;
  Metrics registry_;
  IngestMetrics metrics_{registry_};
  GatedCommit commit_;
  uint64_t committed_runs_ = 0;
  std::vector<std::string> outcomes_;
  std::unique_ptr<Committer> committer_;
};

TEST_F(CommitterTest, WhatWaitsSharesACommit) {
  Start();
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  for (const char* node : {"b", "c", "d"}) ASSERT_TRUE(Offer(node, NewLane()));
  EXPECT_THAT(Finish(), ElementsAre("a OK", "b OK", "c OK", "d OK"));
  EXPECT_THAT(commit_.sizes(), ElementsAre(1, 3));
  EXPECT_EQ(committed_runs_, 4u);
}

TEST_F(CommitterTest, AGroupIsBounded) {
  Start({.max_group_bytes = 10});
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  for (const char* node : {"b", "c", "d"}) ASSERT_TRUE(Offer(node, NewLane(), 6));
  EXPECT_THAT(Finish(), SizeIs(4));
  EXPECT_THAT(commit_.sizes(), ElementsAre(1, 2, 1));
}

TEST_F(CommitterTest, AFullQueueTellsWhenThereIsRoom) {
  Start({.max_queued = 2});
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  ASSERT_TRUE(Offer("b", NewLane()));
  ASSERT_TRUE(Offer("c", NewLane()));
  EXPECT_FALSE(Offer("d", NewLane()));
  EXPECT_FALSE(committer_->TryRun([] {}));
  commit_.Allow(1);
  commit_.AwaitCommits(2);
  EXPECT_THAT(Finish(), ElementsAre("a OK", "d room", "b OK", "c OK"));
}

TEST_F(CommitterTest, QueuedBytesAreBoundedButALargeOfferPassesAlone) {
  Start({.max_queued_bytes = 10});
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  EXPECT_TRUE(Offer("b", NewLane(), 100));
  EXPECT_FALSE(Offer("c", NewLane(), 1));
  EXPECT_THAT(Finish(), ::testing::Contains("b OK"));
}

// Else the sender's watermark would pass the batch that failed, and it would never be sent again.
TEST_F(CommitterTest, AfterAFailureALaneStaysClosed) {
  Start();
  const auto lane = NewLane();
  commit_.SetStatus(absl::ResourceExhaustedError("disk full"));
  ASSERT_TRUE(Offer("a", lane));
  commit_.AwaitCommits(1);
  ASSERT_TRUE(Offer("a", lane));
  ASSERT_TRUE(committer_->TryRun([this] { commit_.SetStatus(absl::OkStatus()); }));
  ASSERT_TRUE(Offer("a", lane));
  ASSERT_TRUE(Offer("b", NewLane()));
  EXPECT_THAT(Finish(),
              ElementsAre("a RESOURCE_EXHAUSTED", "a RESOURCE_EXHAUSTED", "a RESOURCE_EXHAUSTED", "b OK"));
  EXPECT_THAT(commit_.sizes(), ElementsAre(1, 1));
}

TEST_F(CommitterTest, ABadOfferDoesNotFailTheOthersOfItsGroup) {
  Start();
  commit_.SetBadNode("bad");
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  for (const char* node : {"b", "bad", "c"}) ASSERT_TRUE(Offer(node, NewLane()));
  EXPECT_THAT(Finish(), ElementsAre("a OK", "b OK", "bad INVALID_ARGUMENT", "c OK"));
}

TEST_F(CommitterTest, TasksRunInTheirTurn) {
  Start();
  ASSERT_TRUE(Offer("a", NewLane()));
  commit_.AwaitCommits(1);
  ASSERT_TRUE(Offer("b", NewLane()));
  ASSERT_TRUE(committer_->TryRun([this] { outcomes_.push_back("task"); }));
  ASSERT_TRUE(Offer("c", NewLane()));
  EXPECT_THAT(Finish(), ElementsAre("a OK", "b OK", "task", "c OK"));
}

TEST_F(CommitterTest, StoppedItTakesNothing) {
  Start();
  EXPECT_THAT(Finish(), IsEmpty());
  EXPECT_FALSE(Offer("a", NewLane()));
  EXPECT_FALSE(committer_->TryRun([] {}));
  EXPECT_THAT(outcomes_, IsEmpty());
}

TEST(Register, TellsBootsAndStartsFromReconnects) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  v1::Hello hello;
  hello.mutable_node()->set_name("n1");
  hello.set_epoch(kEpoch);
  hello.set_agent_version("0.1.0");
  hello.set_boot_id("b1");
  hello.set_time_unix_ns(absl::ToUnixNanos(now + absl::Seconds(3)));
  const Registration first = Register(std::nullopt, hello, now);
  EXPECT_EQ(first.node.first_seen_unix_ns(), absl::ToUnixNanos(now));
  EXPECT_NEAR(first.node.clock_offset_seconds(), 3, 1e-9);
  ASSERT_EQ(first.events.size(), 1u);
  EXPECT_EQ(first.events[0].kind(), v1::Event::KIND_AGENT_STARTED);

  const Registration again = Register(first.node, hello, now + absl::Seconds(10));
  EXPECT_TRUE(again.events.empty());
  EXPECT_EQ(again.node.first_seen_unix_ns(), absl::ToUnixNanos(now));
  EXPECT_EQ(again.node.last_seen_unix_ns(), absl::ToUnixNanos(now + absl::Seconds(10)));

  hello.set_boot_id("b2");
  const Registration booted = Register(first.node, hello, now);
  ASSERT_EQ(booted.events.size(), 2u);
  EXPECT_EQ(booted.events[0].kind(), v1::Event::KIND_BOOTED);
  EXPECT_EQ(booted.events[0].old_value(), "b1");
}

}  // namespace
}  // namespace fleetmark::collector
