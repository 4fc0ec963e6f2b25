// Disk faults under the spool: a full disk, and the n-th write or sync failing for each n.
#include <sqlite3.h>

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
    disk_.FailFrom(n, n % 2 == 0 ? SQLITE_IOERR_WRITE : SQLITE_IOERR_FSYNC);
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

}  // namespace
}  // namespace fleetmark::agent
