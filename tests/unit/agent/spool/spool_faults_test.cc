// Disk faults under the spool: a full disk, and the n-th write or sync failing for each n.
#include <sqlite3.h>

#include <fstream>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "agent/spool/spool.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/faulty_sqlite_vfs.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

class SpoolFaultsTest : public ::testing::Test {
 protected:
  SpoolFaultsTest() { options_.folder = folder_.path(); }

  TemporaryFolder folder_;
  FakeClock clock_;
  FaultySqliteVfs disk_;
  Spool::Options options_;
};

TEST_F(SpoolFaultsTest, FullDiskIsResourceExhaustedAndHealsByItself) {
  auto spool = Spool::Open(options_, clock_);
  ASSERT_TRUE(spool.ok()) << spool.status();
  ASSERT_TRUE((*spool)->Append(RunRecord("before"), Spool::Kind::kOther).ok());
  disk_.FailFrom(1, SQLITE_FULL);
  const auto refused = (*spool)->Append(RunRecord("lost"), Spool::Kind::kOther);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  EXPECT_EQ((*spool)->stats().records, 1u);
  EXPECT_TRUE((*spool)->ReadAfter(0, 1 << 20, 10).ok());
  disk_.Heal();
  const auto sequence = (*spool)->Append(RunRecord("after"), Spool::Kind::kOther);
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_EQ(TextsOf(**spool), (std::vector<std::string>{"before", "after"}));
}

TEST_F(SpoolFaultsTest, AReadOnlyDiskIsPermissionDeniedAndHealsByItself) {
  auto spool = Spool::Open(options_, clock_);
  ASSERT_TRUE(spool.ok()) << spool.status();
  ASSERT_TRUE((*spool)->Append(RunRecord("before"), Spool::Kind::kOther).ok());
  disk_.FailFrom(1, SQLITE_READONLY);
  const auto refused = (*spool)->Append(RunRecord("lost"), Spool::Kind::kOther);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied) << refused.status();
  EXPECT_EQ((*spool)->stats().damaged_files, 0u);
  EXPECT_TRUE((*spool)->ReadAfter(0, 1 << 20, 10).ok());
  disk_.Heal();
  ASSERT_TRUE((*spool)->Append(RunRecord("after"), Spool::Kind::kOther).ok());
  EXPECT_EQ(TextsOf(**spool), (std::vector<std::string>{"before", "after"}));
}

// Fails every disk operation from the n-th on, for each n, until a pass meets no fault. What was promised
// before must be there after reopening, and numbers must only go up.
TEST_F(SpoolFaultsTest, EachFaultLeavesWhatWasPromised) {
  std::set<std::string> promised;
  uint64_t highest = 0;
  bool met_fault = true;
  int n = 0;
  while (met_fault) {
    ASSERT_LT(++n, 500);
    SCOPED_TRACE(n);
    constexpr int kCodes[] = {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_READONLY};
    disk_.FailFrom(n, kCodes[n % 3]);
    if (auto spool = Spool::Open(options_, clock_); spool.ok()) {
      for (int i = 0; i < 12; ++i) {
        const std::string text = std::to_string(n) + "." + std::to_string(i) + std::string(2500, 'x');
        const auto sequence = (*spool)->Append(RunRecord(text), Spool::Kind::kOther);
        if (!sequence.ok()) continue;
        EXPECT_GT(*sequence, highest);
        highest = *sequence;
        promised.insert(text);
      }
    }
    met_fault = disk_.faults() > 0;
    disk_.Heal();
    auto spool = Spool::Open(options_, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ((*spool)->stats().damaged_files, 0u);
    const std::vector<std::string> texts = TextsOf(**spool);
    const std::set<std::string> found(texts.begin(), texts.end());
    for (const std::string& text : promised) EXPECT_EQ(found.count(text), 1u) << text.substr(0, 8);
    highest = (*spool)->stats().last_sequence;
    ASSERT_TRUE((*spool)->Ack(highest).ok());
    promised.clear();
  }
  EXPECT_GT(n, 10);
}

// A damaged file on a full disk, at each operation: the status says which, and there is a sound spool as soon
// as there is space.
TEST_F(SpoolFaultsTest, DamageOnAFullDiskHealsByItself) {
  int refused = 0;
  for (int n = 1; n < 60; ++n) {
    SCOPED_TRACE(n);
    auto spool = Spool::Open(options_, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    spool->reset();
    std::ofstream(options_.folder + "/spool.db", std::ios::trunc) << std::string(20'000, 'j');
    disk_.FailFrom(n, SQLITE_FULL);
    spool = Spool::Open(options_, clock_);
    if (spool.ok()) {
      const auto sequence = (*spool)->Append(RunRecord("a"), Spool::Kind::kOther);
      if (!sequence.ok()) {
        EXPECT_EQ(sequence.status().code(), absl::StatusCode::kResourceExhausted);
      }
    } else {
      EXPECT_EQ(spool.status().code(), absl::StatusCode::kResourceExhausted) << spool.status();
      ++refused;
    }
    disk_.Heal();
    if (!spool.ok()) spool = Spool::Open(options_, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_TRUE((*spool)->Append(RunRecord("b"), Spool::Kind::kOther).ok());
    EXPECT_EQ(TextsOf(**spool).back(), "b");
  }
  EXPECT_GT(refused, 3);
}

// The file turns out damaged while the agent runs, and the disk is full: it goes on when there is space.
TEST_F(SpoolFaultsTest, DamageFoundAtWorkOnAFullDiskHealsByItself) {
  for (int n = 1; n < 40; ++n) {
    SCOPED_TRACE(n);
    auto spool = Spool::Open(options_, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    disk_.FailFrom(n, SQLITE_CORRUPT);
    const auto first = (*spool)->Append(RunRecord("a"), Spool::Kind::kOther);
    disk_.FailFrom(1, SQLITE_FULL);
    const auto second = (*spool)->Append(RunRecord("a"), Spool::Kind::kOther);
    EXPECT_FALSE(second.ok());
    disk_.Heal();
    EXPECT_TRUE((*spool)->Append(RunRecord("b"), Spool::Kind::kOther).ok()) << first.status();
    EXPECT_EQ(TextsOf(**spool).back(), "b");
  }
}

}  // namespace
}  // namespace fleetmark::agent
