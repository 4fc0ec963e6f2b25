#include "agent/lease/lease_client.h"

#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kRun = absl::Minutes(2);
constexpr absl::Duration kTimeout = absl::Seconds(10);

// The collector's end: what was sent, and an answer that comes from within `send` or later.
class LeaseClientTest : public ::testing::Test {
 protected:
  LeaseClientTest()
      : client_([this](v1::AgentMessage message) { return Take(std::move(message)); }, clock_) {}

  bool Take(v1::AgentMessage message) {
    v1::Lease answer = answer_;
    {
      MutexLock lock(mu_);
      if (!connected_) return false;
      sent_.push_back(message);
    }
    if (!message.has_lease_request() || !answers_at_once_) return true;
    answer.set_request_id(message.lease_request().request_id());
    client_.OnLease(answer);
    return true;
  }
  std::vector<v1::AgentMessage> sent() {
    MutexLock lock(mu_);
    return sent_;
  }
  // Asks in a thread of its own, as a run does, and calls `then` once it waits for an answer.
  template <typename Then>
  absl::StatusOr<LeaseGrant> AskAnd(Then then) {
    answers_at_once_ = false;
    absl::StatusOr<LeaseGrant> grant = absl::UnknownError("not asked");
    std::thread run([&] { grant = client_.Ask("gemm", kRun, kTimeout); });
    clock_.AwaitWaiters(1);
    then();
    run.join();
    return grant;
  }
  std::string LastRequest() { return sent().back().lease_request().request_id(); }

  FakeClock clock_;
  v1::Lease answer_;
  bool answers_at_once_ = true;
  Mutex mu_;
  bool connected_ ABSL_GUARDED_BY(mu_) = true;
  std::vector<v1::AgentMessage> sent_ ABSL_GUARDED_BY(mu_);
  LeaseClient client_;
};

TEST_F(LeaseClientTest, AGrantSaysUntilWhenTheRunMayStart) {
  answer_.set_granted(true);
  answer_.set_expires_seconds(180);
  const MonoTime asked = clock_.Mono();
  const auto grant = client_.Ask("gemm", kRun, kTimeout);
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->expires, asked + absl::Seconds(180));
  EXPECT_EQ(grant->start_by, asked + absl::Seconds(60) - LeaseClient::kEnding);
  EXPECT_TRUE(grant->MayStart(asked));
  EXPECT_FALSE(grant->MayStart(grant->start_by));
  ASSERT_THAT(sent(), SizeIs(1));
  EXPECT_EQ(sent()[0].lease_request().benchmark(), "gemm");
  EXPECT_DOUBLE_EQ(sent()[0].lease_request().duration_seconds(), 120);
  client_.Release(grant->request_id);
  ASSERT_THAT(sent(), SizeIs(2));
  EXPECT_EQ(sent()[1].lease_release().request_id(), grant->request_id);
}

TEST_F(LeaseClientTest, ADenialHasAReasonAndADelay) {
  answer_.set_reason("limit 'one': n7 (gemm)");
  answer_.set_retry_seconds(12.5);
  const auto grant = client_.Ask("gemm", kRun, kTimeout);
  EXPECT_TRUE(absl::IsResourceExhausted(grant.status()));
  EXPECT_THAT(Message(grant.status()), HasSubstr("n7 (gemm)"));
  EXPECT_EQ(RetryAfter(grant.status()), absl::Milliseconds(12500));
  EXPECT_THAT(sent(), SizeIs(1));
}

TEST_F(LeaseClientTest, ADelayThatMakesNoSenseIsBounded) {
  for (const auto& [seconds, want] : std::vector<std::pair<double, absl::Duration>>{
           {-5, absl::ZeroDuration()}, {1e300, absl::Hours(24)}, {std::nan(""), absl::ZeroDuration()}}) {
    answer_.set_retry_seconds(seconds);
    EXPECT_EQ(RetryAfter(client_.Ask("gemm", kRun, kTimeout).status()), want);
  }
}

TEST_F(LeaseClientTest, WithoutAConnectionThereIsNoLease) {
  {
    MutexLock lock(mu_);
    connected_ = false;
  }
  const auto grant = client_.Ask("gemm", kRun, kTimeout);
  EXPECT_TRUE(absl::IsUnavailable(grant.status()));
  EXPECT_EQ(RetryAfter(grant.status()), std::nullopt);
}

TEST_F(LeaseClientTest, TheTimeTheAnswerTookIsTheLeases) {
  const MonoTime asked = clock_.Mono();
  const auto grant = AskAnd([&] {
    clock_.Advance(absl::Seconds(9));
    v1::Lease lease;
    lease.set_request_id("another");
    lease.set_granted(true);
    client_.OnLease(lease);
    lease.set_request_id(LastRequest());
    lease.set_expires_seconds(180);
    client_.OnLease(lease);
  });
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->expires, asked + absl::Seconds(180));
}

TEST_F(LeaseClientTest, AfterTheTimeoutTheRequestIsTakenBack) {
  const auto grant = AskAnd([&] { clock_.Advance(kTimeout); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(grant.status()));
  ASSERT_THAT(sent(), SizeIs(2));
  const std::string id = sent()[0].lease_request().request_id();
  EXPECT_EQ(sent()[1].lease_release().request_id(), id);
  v1::Lease late;
  late.set_request_id(id);
  late.set_granted(true);
  client_.OnLease(late);  // is nobody's
}

TEST_F(LeaseClientTest, ALostConnectionEndsTheWait) {
  const auto grant = AskAnd([&] { client_.Disconnected(absl::UnavailableError("reset")); });
  EXPECT_TRUE(absl::IsUnavailable(grant.status()));
  EXPECT_THAT(Message(grant.status()), HasSubstr("reset"));
}

TEST_F(LeaseClientTest, StopEndsTheWaitAndAllLaterOnes) {
  const auto grant = AskAnd([&] { client_.Stop(); });
  EXPECT_TRUE(absl::IsCancelled(grant.status()));
  EXPECT_TRUE(absl::IsCancelled(client_.Ask("gemm", kRun, kTimeout).status()));
}

TEST_F(LeaseClientTest, ALeaseThatIsTooShortIsGivenBack) {
  answer_.set_granted(true);
  answer_.set_expires_seconds(120);  // no time left to start
  const auto grant = client_.Ask("gemm", kRun, kTimeout);
  EXPECT_TRUE(absl::IsDeadlineExceeded(grant.status()));
  ASSERT_THAT(sent(), SizeIs(2));
  EXPECT_TRUE(sent()[1].has_lease_release());
}

}  // namespace
}  // namespace fleetmark::agent
