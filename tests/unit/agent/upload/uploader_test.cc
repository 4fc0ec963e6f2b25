#include "agent/upload/uploader.h"

#include <atomic>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_upload_stream.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UploaderTest : public ::testing::Test {
 protected:
  UploaderTest() {
    options_.collectors = {"c1:1"};
    callbacks_.make_hello = [] {
      v1::Hello hello;
      hello.mutable_node()->set_name("n1");
      return hello;
    };
    Spool::Options spool;
    spool.folder = folder_.path();
    spool_ = *Spool::Open(spool, clock_);
  }

  ~UploaderTest() override {
    uploader_.reset();
    EXPECT_THAT(collector_.Complaints(), IsEmpty());
  }

  void Append(int count, size_t bytes = 100) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(spool_->Append(RunRecord(std::string(bytes, 'x')), Spool::Kind::kOther).ok());
    }
    if (uploader_) uploader_->NotifyAppended();
  }

  void Start() {
    uploader_ = std::make_unique<Uploader>(options_, callbacks_, *spool_, collector_, clock_);
    uploader_->Start();
  }

  void AwaitEmptySpool() {
    collector_.Await([this](const FakeCollector&) { return spool_->stats().records == 0; });
  }

  // Moves the clock whenever the uploader waits, until all is acknowledged.
  void DriveUntilEmpty(absl::Duration step) {
    while (spool_->stats().records > 0) {
      clock_.AwaitWaiters(1);
      clock_.Advance(step);
    }
  }

  std::vector<uint64_t> AllUpTo(uint64_t last) {
    std::vector<uint64_t> all(last);
    std::iota(all.begin(), all.end(), 1);
    return all;
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  FakeCollector collector_;
  FakeCollector::Faults faults_;
  Uploader::Options options_;
  Uploader::Callbacks callbacks_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Uploader> uploader_;
};

TEST_F(UploaderTest, SendsWhatIsThereAndWhatComes) {
  Append(3);
  Start();
  AwaitEmptySpool();
  Append(2);
  AwaitEmptySpool();
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(5));
  EXPECT_EQ(collector_.RecordsReceived(), 5u);
  ASSERT_THAT(collector_.Hellos(), SizeIs(1));
  const v1::Hello hello = collector_.Hellos()[0];
  EXPECT_EQ(hello.node().name(), "n1");
  EXPECT_EQ(hello.epoch(), spool_->epoch());
  EXPECT_EQ(hello.first_sequence(), 1u);
  EXPECT_EQ(hello.protocol(), 1u);
  EXPECT_EQ(uploader_->stats().connected_to, "c1:1");
}

TEST_F(UploaderTest, WelcomeTellsWhatIsThereAlready) {
  Append(5);
  faults_.claim_acked = 3;
  collector_.SetFaults(faults_);
  Start();
  AwaitEmptySpool();
  EXPECT_THAT(collector_.Stored(spool_->epoch()), ElementsAre(4, 5));
}

TEST_F(UploaderTest, LostAcknowledgementsEndInAResend) {
  faults_.lose_every_nth_ack = 2;
  collector_.SetFaults(faults_);
  options_.batch_records = 3;
  Append(40);
  Start();
  DriveUntilEmpty(absl::Seconds(40));
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(40));
}

TEST_F(UploaderTest, DoubledAcknowledgementsAreHarmless) {
  faults_.double_every_nth_ack = 1;
  collector_.SetFaults(faults_);
  options_.batch_records = 3;
  Append(40);
  Start();
  AwaitEmptySpool();
  EXPECT_EQ(collector_.RecordsReceived(), 40u);
}

TEST_F(UploaderTest, CutStreamsResumeFromTheLastAcknowledgement) {
  faults_.cut_after_batches = 3;
  collector_.SetFaults(faults_);
  options_.batch_records = 2;
  Append(50);
  Start();
  DriveUntilEmpty(absl::Seconds(30));
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(50));
  EXPECT_GT(collector_.Hellos().size(), 5u);
  EXPECT_EQ(collector_.RecordsReceived(), 50u) << "the Welcome said what was stored";
}

TEST_F(UploaderTest, NothingLeavesTheSpoolBeforeItsAcknowledgement) {
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  Append(10);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 10; });
  clock_.AwaitWaiters(1);
  EXPECT_EQ(spool_->stats().records, 10u);
  collector_.ReleaseAcks();
  AwaitEmptySpool();
}

TEST_F(UploaderTest, UnacknowledgedBytesAreBounded) {
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  options_.window_bytes = 100'000;
  options_.batch_bytes = 20'000;
  Append(100, 9000);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() >= 10; });
  clock_.AwaitWaiters(1);
  EXPECT_LE(collector_.LargestUnacknowledgedBytes(), 120'000u);
  EXPECT_LT(collector_.RecordsReceived(), 20u);
  collector_.ReleaseAcks();
  AwaitEmptySpool();
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(100));
}

TEST_F(UploaderTest, AcknowledgementOfWhatWasNeverSentEndsTheConnection) {
  Start();
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().connections == 1; });
  faults_.refuse_connections = absl::UnavailableError("away");
  collector_.SetFaults(faults_);
  clock_.AwaitWaiters(1);
  ASSERT_TRUE(spool_->Append(RunRecord("unsent"), Spool::Kind::kOther).ok());
  v1::CollectorMessage ack;
  ack.mutable_ack()->set_sequence(1);
  // The uploader was not told of the record, so it can't have sent it; the acknowledgement comes first.
  collector_.Push(ack);
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().failures > 0; });
  EXPECT_EQ(spool_->stats().records, 1u);
}

TEST_F(UploaderTest, SpoolSetBackBeginsANewEpoch) {
  Append(2);
  const std::string epoch = spool_->epoch();
  faults_.claim_acked = 900;
  collector_.SetFaults(faults_);
  Start();
  collector_.Await([&](const FakeCollector&) { return spool_->epoch() != epoch; });
  collector_.SetFaults({});
  DriveUntilEmpty(absl::Seconds(30));
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(2));
}

TEST_F(UploaderTest, TriesCollectorsInTurnWithGrowingDelays) {
  options_.collectors = {"c1:1", "c2:1", "c3:1"};
  faults_.refuse_connections = absl::UnavailableError("no");
  collector_.SetFaults(faults_);
  Start();
  std::vector<absl::Duration> delays;
  for (int i = 0; i < 12; ++i) {
    clock_.AwaitWaiters(1);
    delays.push_back(clock_.NextDeadline() - clock_.Mono());
    clock_.Advance(delays.back());
  }
  const auto addresses = collector_.Addresses();
  for (size_t i = 3; i < addresses.size(); ++i) EXPECT_EQ(addresses[i], addresses[i - 3]);
  EXPECT_LE(delays[0], absl::Milliseconds(200));
  EXPECT_GT(delays[10] + delays[11], absl::Seconds(2));
  for (absl::Duration delay : delays) EXPECT_LE(delay, options_.backoff.max);
}

TEST_F(UploaderTest, RefusedHelloIsRetriedRarely) {
  faults_.refuse_hello = absl::InvalidArgumentError("the node's name is wrong");
  collector_.SetFaults(faults_);
  Start();
  for (int i = 0; i < 5; ++i) {
    clock_.AwaitWaiters(1);
    const absl::Duration delay = clock_.NextDeadline() - clock_.Mono();
    EXPECT_GE(delay, options_.backoff.max / 10);
    clock_.Advance(delay);
  }
}

TEST_F(UploaderTest, SilenceAfterHelloIsBounded) {
  faults_.answer_hello = false;
  collector_.SetFaults(faults_);
  Start();
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.NextDeadline() - clock_.Mono(), options_.connect_timeout);
  clock_.Advance(options_.connect_timeout);
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().failures == 1; });
}

TEST_F(UploaderTest, CollectorThatStopsReadingIsLeft) {
  faults_.read = false;
  collector_.SetFaults(faults_);
  Append(1);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 1; });
  AwaitEmptySpool();
  clock_.AwaitWaiters(1);
  clock_.Advance(options_.stall_timeout);
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().failures == 1; });
}

TEST_F(UploaderTest, PauseHoldsRecordsButNotHeartbeats) {
  Start();
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().connections == 1; });
  v1::CollectorMessage pause;
  pause.mutable_pause()->set_seconds(100);
  collector_.Push(pause);
  clock_.AwaitWaiters(1);
  Append(1);
  for (int i = 0; i < 3; ++i) {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(30));
    collector_.Await(
        [&](const FakeCollector& c) { return c.Heartbeats().size() == static_cast<size_t>(i) + 1; });
  }
  EXPECT_EQ(collector_.RecordsReceived(), 0u);
  clock_.AwaitWaiters(1);
  clock_.Advance(absl::Seconds(10));
  AwaitEmptySpool();
}

TEST_F(UploaderTest, WhatWasInFlightBeforeAPauseIsSentAgain) {
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  Append(4);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 4; });
  v1::CollectorMessage pause;
  pause.mutable_pause()->set_seconds(5);
  collector_.Push(pause);
  collector_.SetFaults({});
  while (collector_.RecordsReceived() < 8) {
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(1));
  }
  AwaitEmptySpool();
}

TEST_F(UploaderTest, HeartbeatsSayHowTheSpoolIs) {
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  collector_.SetHeartbeat(10);
  callbacks_.make_heartbeat = [] {
    v1::Heartbeat heartbeat;
    heartbeat.set_next_benchmark("stream");
    return heartbeat;
  };
  Append(3);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 3; });
  clock_.AwaitWaiters(1);
  clock_.Advance(absl::Seconds(10));
  collector_.Await([](const FakeCollector& c) { return !c.Heartbeats().empty(); });
  const v1::Heartbeat heartbeat = collector_.Heartbeats()[0];
  EXPECT_EQ(heartbeat.next_benchmark(), "stream");
  EXPECT_EQ(heartbeat.spool_records(), 3u);
  EXPECT_EQ(heartbeat.spool_bytes(), spool_->stats().bytes);
  EXPECT_GT(heartbeat.spool_oldest_unix_ns(), 0);
}

// Times are since Welcome.
class HeartbeatTest : public UploaderTest {
 protected:
  HeartbeatTest() {
    collector_.SetHeartbeat(60);
    Start();
    collector_.Await([this](const FakeCollector&) { return !uploader_->stats().connected_to.empty(); });
    clock_.AwaitWaiters(1);
    welcome_ = clock_.Mono();
  }

  void AdvanceTo(int seconds) {
    clock_.Advance(welcome_ + absl::Seconds(seconds) - clock_.Mono());
    clock_.AwaitWaiters(1);
  }

  size_t Sent() const { return collector_.Heartbeats().size(); }
  void AwaitSent(size_t count) {
    collector_.Await([count](const FakeCollector& c) { return c.Heartbeats().size() >= count; });
    clock_.AwaitWaiters(1);
  }

  MonoTime welcome_;
};

TEST_F(HeartbeatTest, OneSoonAfterWelcomeThenOneEachInterval) {
  AdvanceTo(14);
  EXPECT_EQ(Sent(), 0u);
  AdvanceTo(15);
  AwaitSent(1);
  AdvanceTo(74);
  EXPECT_EQ(Sent(), 1u);
  AdvanceTo(75);
  AwaitSent(2);
}

TEST_F(HeartbeatTest, AChangeIsToldAtOnceAfterAQuarterOfTheInterval) {
  AdvanceTo(15);
  AwaitSent(1);
  AdvanceTo(40);
  uploader_->NotifyChanged();
  AwaitSent(2);
  // Counted from the last one.
  AdvanceTo(99);
  EXPECT_EQ(Sent(), 2u);
  AdvanceTo(100);
  AwaitSent(3);
}

TEST_F(HeartbeatTest, ManyChangesAreToldAtMostFourTimesAnInterval) {
  while (Sent() < 6) {
    uploader_->NotifyChanged();
    clock_.Advance(absl::Seconds(1));
    clock_.AwaitWaiters(1);
  }
  const std::vector<v1::Heartbeat> sent = collector_.Heartbeats();
  for (size_t i = 1; i < sent.size(); ++i) {
    EXPECT_GE(sent[i].time_unix_ns() - sent[i - 1].time_unix_ns(),
              absl::ToInt64Nanoseconds(absl::Seconds(15)));
  }
}

TEST_F(UploaderTest, OrdersReachTheirCallbacks) {
  std::atomic<int> seen = 0;
  callbacks_.on_plan = [&](const v1::Plan& plan) { seen += plan.version() == "v1" ? 1 : 0; };
  callbacks_.on_run_now = [&](const v1::RunNow& run) { seen += run.benchmark() == "b" ? 10 : 0; };
  callbacks_.on_cancel = [&](const v1::Cancel& cancel) { seen += cancel.run_id() == "r" ? 100 : 0; };
  callbacks_.on_lease = [&](const v1::Lease& lease) { seen += lease.granted() ? 1000 : 0; };
  callbacks_.on_refused = [&](const v1::Refusal& refusal) { seen += refusal.sequence() == 1 ? 10000 : 0; };
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  Append(1);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 1; });
  v1::CollectorMessage message;
  message.mutable_plan()->set_version("v1");
  collector_.Push(message);
  message.mutable_run_now()->set_benchmark("b");
  collector_.Push(message);
  message.mutable_cancel()->set_run_id("r");
  collector_.Push(message);
  message.mutable_lease()->set_granted(true);
  collector_.Push(message);
  message.mutable_ack()->set_sequence(1);
  message.mutable_ack()->add_refused()->set_sequence(1);
  collector_.Push(message);
  AwaitEmptySpool();
  EXPECT_EQ(seen, 11111);
  EXPECT_EQ(uploader_->stats().records_refused, 1u);
}

TEST_F(UploaderTest, OutboxIsBoundedAndOnlyForAConnection) {
  options_.outbox_messages = 4;
  v1::AgentMessage progress;
  progress.mutable_progress()->set_request_id("q");
  collector_.SetFaults({.refuse_connections = absl::UnavailableError("no")});
  Start();
  clock_.AwaitWaiters(1);
  EXPECT_FALSE(uploader_->Send(progress));
  faults_.read = false;
  collector_.SetFaults(faults_);
  clock_.Advance(absl::Seconds(1));
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().connections == 1; });
  int taken = 0;
  for (int i = 0; i < 20; ++i) taken += uploader_->Send(progress) ? 1 : 0;
  EXPECT_GE(taken, 4);
  EXPECT_LE(taken, 5);  // one may have been handed to the stream meanwhile
  EXPECT_EQ(uploader_->stats().outbox_refused, static_cast<uint64_t>(21 - taken));
}

TEST_F(UploaderTest, FloodOfOrdersEndsTheConnectionInsteadOfFillingMemory) {
  std::atomic<bool> stuck = true;
  callbacks_.on_plan = [&](const v1::Plan&) {
    while (stuck) std::this_thread::yield();
  };
  Start();
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().connections == 1; });
  v1::CollectorMessage plan;
  plan.mutable_plan()->set_version(std::string(1 << 20, 'v'));
  for (int i = 0; i < 40; ++i) collector_.Push(plan);
  stuck = false;
  collector_.Await([this](const FakeCollector&) { return uploader_->stats().failures == 1; });
}

TEST_F(UploaderTest, StopDrainsFirst) {
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  Append(5);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 5; });
  std::thread stopper([this] { uploader_->Stop(absl::Seconds(10)); });
  collector_.ReleaseAcks();
  stopper.join();
  EXPECT_EQ(spool_->stats().records, 0u);
  EXPECT_TRUE(collector_.Finished());
}

TEST_F(UploaderTest, StopEndsAtItsDeadlineWhenNothingIsAcknowledged) {
  // Time runs fast here, and Stop may begin late.
  options_.stall_timeout = absl::Hours(10000);
  faults_.hold_acks = true;
  collector_.SetFaults(faults_);
  Append(5);
  Start();
  collector_.Await([](const FakeCollector& c) { return c.RecordsReceived() == 5; });
  std::atomic<bool> stopped = false;
  std::thread stopper([&] {
    uploader_->Stop(absl::Seconds(10));
    stopped = true;
  });
  while (!stopped) {
    clock_.Advance(absl::Seconds(1));
    std::this_thread::yield();
  }
  stopper.join();
  EXPECT_EQ(spool_->stats().records, 5u);
}

TEST_F(UploaderTest, StopWhileBackingOffIsImmediate) {
  faults_.refuse_connections = absl::UnavailableError("no");
  collector_.SetFaults(faults_);
  Start();
  clock_.AwaitWaiters(1);
  uploader_->Stop(absl::Seconds(10));
}

TEST_F(UploaderTest, ErrorOnErrorStillDeliversEverythingOnce) {
  options_.batch_records = 3;
  Append(30);
  Start();
  for (int round = 0; round < 30; ++round) {
    faults_ = {};
    faults_.lose_every_nth_ack = round % 3 == 0 ? 2 : 0;
    faults_.double_every_nth_ack = round % 3 == 1 ? 1 : 0;
    faults_.cut_after_batches = round % 4;
    if (round % 7 == 6) faults_.refuse_connections = absl::UnavailableError("away");
    collector_.SetFaults(faults_);
    Append(3);
    clock_.AwaitWaiters(1);
    clock_.Advance(absl::Seconds(45));
    if (round % 5 == 4) collector_.CutStream(absl::UnavailableError("reset"));
  }
  collector_.SetFaults({});
  DriveUntilEmpty(absl::Seconds(30));
  EXPECT_EQ(collector_.Stored(spool_->epoch()), AllUpTo(120));
}

}  // namespace
}  // namespace fleetmark::agent
