// The spool under a disk that loses its power at any moment, and the disk itself.
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "agent/spool/spool.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/power_loss_disk.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

using Survivors = PowerLossDisk::Survivors;
constexpr Survivors kAllSurvivors[] = {Survivors::kNone, Survivors::kAll, Survivors::kPrefix,
                                       Survivors::kAny};

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// What one life of the machine was told, and what must therefore hold after it.
struct Promises {
  std::map<uint64_t, std::string> records;  // by number: there, unless acknowledged meanwhile
  std::map<uint64_t, std::string> perhaps;  // begun, and not answered
  uint64_t acked = 0;
  uint64_t ack_begun = 0;
  uint64_t highest = 0;
  std::set<std::string> started;  // noted for certain, and not ended
  std::set<std::string> ending;   // begun to be noted or ended: perhaps there
  std::string epoch;
};

class SpoolPowerLossTest : public ::testing::Test {
 protected:
  // A run begins, ends and is acknowledged, again and again, until the power goes or `steps` are done.
  void Live(const std::string& folder, int steps, std::mt19937& rng) {
    Spool::Options options;
    options.folder = folder;
    auto spool = Spool::Open(options, clock_);
    if (!spool.ok()) {
      EXPECT_TRUE(disk_.power_lost()) << spool.status();
      return;
    }
    promises_.epoch = (*spool)->epoch();
    for (int i = 0; i < steps && !disk_.power_lost(); ++i) Step(**spool, rng);
  }

  void Step(Spool& spool, std::mt19937& rng) {
    const std::string id = absl::StrCat("run-", ++runs_);
    v1::Record record = RunRecord(absl::StrCat(id, std::string(rng() % 6000, 'x')));
    record.mutable_run()->set_run_id(id);
    promises_.ending.insert(id);
    if (spool.NoteStarted(record.run()).ok()) promises_.started.insert(id);
    if (rng() % 4 == 0) return;  // it is still under way
    const std::string text = record.run().reason();
    const uint64_t next = spool.stats().last_sequence + 1;
    promises_.perhaps[next] = text;
    promises_.started.erase(id);
    const auto sequence = spool.Append(std::move(record), Spool::Kind::kOther);
    if (!sequence.ok()) return;
    EXPECT_GT(*sequence, promises_.highest) << "a number was given out twice";
    promises_.highest = *sequence;
    promises_.records[*sequence] = text;
    promises_.perhaps.erase(next);
    promises_.ending.erase(id);
    ended_.insert(id);
    if (rng() % 5 != 0) return;
    promises_.ack_begun = *sequence - rng() % 2;
    if (spool.Ack(promises_.ack_begun).ok()) promises_.acked = promises_.ack_begun;
  }

  void CheckRecords(Spool& spool) {
    const auto batch = spool.ReadAfter(0, 64 << 20, 1'000'000);
    ASSERT_TRUE(batch.ok()) << batch.status();
    std::map<uint64_t, std::string> found;
    for (const v1::Record& record : batch->records()) found[record.sequence()] = record.run().reason();
    for (const auto& [sequence, text] : promises_.records) {
      if (sequence <= promises_.ack_begun && found.count(sequence) == 0) continue;
      ASSERT_EQ(found.count(sequence), 1u) << "lost " << sequence;
      EXPECT_EQ(found[sequence], text);
    }
    for (const auto& [sequence, text] : found) {
      EXPECT_GT(sequence, promises_.acked) << "came back after it was acknowledged";
      if (promises_.records.count(sequence) != 0) continue;
      ASSERT_EQ(promises_.perhaps.count(sequence), 1u) << "nobody appended " << sequence;
      EXPECT_EQ(text, promises_.perhaps[sequence]);
    }
    promises_.records = std::move(found);
  }

  // Opens what is left; it is sound, and holds what was promised.
  void CheckAfter(const std::string& folder) {
    Spool::Options options;
    options.folder = folder;
    auto spool = Spool::Open(options, clock_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ((*spool)->stats().damaged_files, 0u);
    EXPECT_EQ((*spool)->stats().dropped, 0u);
    if (promises_.highest > 0 || !promises_.started.empty()) {
      EXPECT_EQ((*spool)->epoch(), promises_.epoch);
    }
    CheckRecords(**spool);
    EXPECT_GE((*spool)->stats().last_sequence, promises_.highest);
    const auto started = (*spool)->StartedRuns();
    ASSERT_TRUE(started.ok()) << started.status();
    std::set<std::string> left;
    for (const v1::Run& run : *started) left.insert(run.run_id());
    for (const std::string& id : promises_.started) EXPECT_EQ(left.count(id), 1u) << "forgot that it began";
    for (const std::string& id : left) {
      EXPECT_EQ(ended_.count(id), 0u) << id << " ended, and is said to be under way";
      EXPECT_EQ(promises_.started.count(id) + promises_.ending.count(id) > 0, true) << id;
    }
    promises_.perhaps.clear();
    promises_.highest = (*spool)->stats().last_sequence;
    promises_.started = std::move(left);
    promises_.ending.clear();
  }

  PowerLossDisk disk_;
  FakeClock clock_;
  Promises promises_;
  std::set<std::string> ended_;
  int runs_ = 0;
};

// The same short life, with power lost at each of its operations in turn, and each way to survive it.
TEST_F(SpoolPowerLossTest, AtEachOperationOfAShortLife) {
  int cuts = 0;
  for (int n = 1;; ++n) {
    bool lost = false;
    for (uint64_t variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE(absl::StrCat("operation ", n, ", variant ", variant));
      TemporaryFolder before;
      TemporaryFolder after;
      promises_ = {};
      ended_.clear();
      disk_.Reset();
      disk_.LosePowerAt(n);
      std::mt19937 rng(1);
      Live(before.path(), 6, rng);
      lost = disk_.power_lost();
      if (!lost) break;
      disk_.WriteWhatIsLeft(after.path(), kAllSurvivors[variant % 4], variant);
      disk_.Reset();
      CheckAfter(after.path());
      if (HasFatalFailure()) return;
      ++cuts;
    }
    if (!lost) break;
  }
  EXPECT_GT(cuts, 150);
}

// Many lives one after the other on what the one before left, with checkpoints among them.
TEST_F(SpoolPowerLossTest, AtRandomMomentsOverManyLives) {
  int losses = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 rng(seed);
    promises_ = {};
    ended_.clear();
    auto folder = std::make_unique<TemporaryFolder>();
    for (int life = 0; life < 15; ++life) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", life ", life));
      disk_.Reset();
      disk_.LosePowerAt(1 + static_cast<int>(rng() % 400));
      Live(folder->path(), 150, rng);
      losses += disk_.power_lost() ? 1 : 0;
      auto next = std::make_unique<TemporaryFolder>();
      disk_.WriteWhatIsLeft(next->path(), kAllSurvivors[rng() % 4], rng());
      folder = std::move(next);
      disk_.Reset();
      CheckAfter(folder->path());
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(losses, 100);
}

// The disk itself, by a database that does not sync.
class PowerLossDiskTest : public ::testing::Test {
 protected:
  void Write(const char* synchronous) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open((before_.path() + "/d.db").c_str(), &handle), SQLITE_OK);
    const std::string sql = absl::StrCat(
        "PRAGMA synchronous=", synchronous,
        "; CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000)); INSERT INTO t VALUES (7)");
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(handle);
  }
  std::string Left(Survivors survivors, uint64_t seed) {
    TemporaryFolder after;
    disk_.WriteWhatIsLeft(after.path(), survivors, seed);
    return ContentOf(after.path() + "/d.db");
  }

  PowerLossDisk disk_;
  TemporaryFolder before_;
};

TEST_F(PowerLossDiskTest, WhatWasSyncedIsThereHoweverItEnds) {
  Write("FULL");
  const std::string real = ContentOf(before_.path() + "/d.db");
  ASSERT_GT(real.size(), 20000u);
  for (const Survivors survivors : kAllSurvivors) {
    for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_TRUE(Left(survivors, seed) == real);
  }
}

TEST_F(PowerLossDiskTest, WhatWasNotSyncedMayBeLostWholeOrInPart) {
  Write("OFF");
  const std::string real = ContentOf(before_.path() + "/d.db");
  EXPECT_EQ(Left(Survivors::kNone, 1), "");
  EXPECT_TRUE(Left(Survivors::kAll, 1) == real);
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 30; ++seed) kinds.insert(Left(Survivors::kAny, seed));
  EXPECT_GT(kinds.size(), 5u);
}

TEST_F(PowerLossDiskTest, NothingWorksWithoutPower) {
  Write("FULL");
  disk_.LosePowerAt(3);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((before_.path() + "/d.db").c_str(), &handle), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(handle, "INSERT INTO t VALUES (8)", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(handle, "INSERT INTO t VALUES (9)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_TRUE(disk_.power_lost());
  EXPECT_EQ(disk_.operations(), 3);
}

}  // namespace
}  // namespace fleetmark::agent
