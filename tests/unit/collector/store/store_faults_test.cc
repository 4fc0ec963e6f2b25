// A disk that fails at any one of its operations, or for good, gives wrong bits, or loses its power: the
// store says so, gives no wrong value, and after it is opened again everything that it acknowledged is there,
// once.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "collector/store/integrity.h"
#include "collector/store/store.h"
#include "common/base/status.h"
#include "tests/fakes/faulty_file_system.h"
#include "tests/unit/collector/store/records.h"
#include "tests/unit/collector/store/store_process.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;
constexpr uint64_t kBatch = 5;
constexpr int kSteps = 120;

// How the process says it ended.
enum Exit {
  kDone = 0,
  kNotOpened = 20,
  kRefusedWrites = 21,  // and said so; nothing was acknowledged since
  kWrongValue = 22,
  kWroteAfterFailure = 23,
  kNoReason = 24,
};

// FM_FAULT_ROUNDS=2000 for the long form.
int Rounds() {
  const char* const rounds = std::getenv("FM_FAULT_ROUNDS");
  return rounds == nullptr ? 15 : std::atoi(rounds);
}

double ValueOf(uint64_t sequence, int metric) {
  return metric == 0 ? static_cast<double>(sequence) : 1.0 / static_cast<double>(sequence + 1);
}

Store::Options OptionsFor(const std::string& folder) {
  Store::Options options;
  options.folder = folder;
  options.reserve_bytes = 0;
  options.write_buffer_bytes = 1 << 20;  // so that flushes and compactions are met too
  options.cache_bytes = 1 << 20;
  return options;
}

v1::Run RunOf(uint64_t sequence) {
  v1::Run run = MakeRun(kStartNs + static_cast<int64_t>(sequence) * 1'000'000'000, 0, 2);
  for (int m = 0; m < 2; ++m) run.mutable_metrics(m)->set_value(ValueOf(sequence, m));
  std::string log(4000, ' ');  // that fills buffers and does not shrink
  std::mt19937_64 dice(sequence);
  for (char& c : log) c = static_cast<char>('0' + dice() % 64);
  run.set_log_tail(log);
  return run;
}

// Whether what can be read is right; an error is no wrong value.
bool ReadsRight(const Store& store, bool* complete, uint64_t* count) {
  bool right = true;
  for (uint64_t series = 1; series <= 2; ++series) {
    uint64_t last = 0;
    const absl::Status status = store.ScanSamples(series, 0, kForEver, [&](const v1::Sample& sample) {
      const auto sequence = static_cast<uint64_t>((sample.time_unix_ns() - kStartNs) / 1'000'000'000);
      right =
          right && sequence == last + 1 && sample.value() == ValueOf(sequence, static_cast<int>(series) - 1);
      last = sequence;
      return true;
    });
    *complete = *complete && status.ok();
    if (status.ok()) *count = last;
  }
  return right;
}

// Ends when the store takes no more, or after kSteps.
[[noreturn]] void Work(const std::string& folder, DiskFault fault, uint64_t at, uint64_t seed) {
  const auto disk = std::make_shared<FaultyFileSystem>(fault, at, seed);
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
  Store::Options options = OptionsFor(folder);
  options.env = env.get();
  const auto store = Store::Open(options);
  if (!store.ok()) _exit(store.status().message().empty() ? kNoReason : kNotOpened);
  uint64_t sequence = *(*store)->Watermark("n1", kEpoch);
  for (int step = 0; step < kSteps; ++step) {
    SenderRecords batch{"n1", kEpoch, {}};
    for (uint64_t i = 1; i <= kBatch; ++i)
      batch.records.push_back(RunRecord(sequence + i, RunOf(sequence + i)));
    const auto committed = (*store)->Commit({batch});
    if (committed.ok()) {
      sequence += kBatch;
      Acknowledge(sequence);
    }
    bool complete = true;
    uint64_t count = 0;
    if (!ReadsRight(**store, &complete, &count)) _exit(kWrongValue);
    if (complete && count < sequence) _exit(kWrongValue);
    if (!committed.ok() && !(*store)->Health().ok()) {
      if ((*store)->Commit({batch}).ok()) _exit(kWroteAfterFailure);
      _exit(kRefusedWrites);
    }
    // What fails of these is tried again later by itself.
    if (step % 40 == 20) (*store)->Maintain(kStartNs + 2 * kDayNs).IgnoreError();
    if (step % 40 == 39) (*store)->Compact().IgnoreError();
  }
  // Destruction may not be clean on a bad disk; the process ends as one does that is killed.
  _exit(kDone);
}

class StoreFaults : public ::testing::TestWithParam<DiskFault> {};

TEST_P(StoreFaults, NothingAcknowledgedIsLostAndNothingWrongIsRead) {
  std::mt19937_64 dice(static_cast<uint64_t>(GetParam()) + 11);
  TempFolder folder;
  uint64_t acknowledged = 0;
  std::array<int, 256> ends{};
  for (int round = 0; round < Rounds(); ++round) {
    if (round % 10 == 0) {  // stores of different ages
      ASSERT_TRUE(RemoveTree(folder.path() + "/store").ok());
      acknowledged = 0;
    }
    // Early ones hit the opening.
    const uint64_t at = 1 + dice() % (dice() % 3 == 0 ? 60 : 1200);
    const uint64_t seed = dice();
    SCOPED_TRACE(
        absl::StrCat("round ", round, ", fault ", static_cast<int>(GetParam()), " at ", at, ", seed ", seed));
    const EndOfProcess end =
        RunSelf({"work", folder.path() + "/store", absl::StrCat(static_cast<int>(GetParam())),
                 absl::StrCat(at), absl::StrCat(seed)});
    acknowledged = std::max(acknowledged, end.acknowledged);
    ++ends[static_cast<size_t>(end.exit_status < 0 ? 255 : end.exit_status)];
    // Debian's RocksDB has its assertions on: a failed write of the log ends the process.
    EXPECT_TRUE(end.signal == 0 || end.signal == SIGABRT) << end.signal;
    ASSERT_NE(end.exit_status, kWrongValue)
        << "a wrong value was read, or one that was acknowledged was not there";
    ASSERT_NE(end.exit_status, kWroteAfterFailure);
    ASSERT_NE(end.exit_status, kNoReason);

    auto store = Store::Open(OptionsFor(folder.path() + "/store"));
    ASSERT_TRUE(store.ok()) << store.status();
    const uint64_t stored = *(*store)->Watermark("n1", kEpoch);
    ASSERT_GE(stored, acknowledged);
    ASSERT_EQ(stored % kBatch, 0u) << "half a commit is stored";
    bool complete = true;
    uint64_t count = 0;
    if (stored > 0) {
      ASSERT_TRUE(ReadsRight(**store, &complete, &count));
      ASSERT_TRUE(complete);
      ASSERT_EQ(count, stored);
      ASSERT_EQ((*store)->Counts()->runs, stored);
      ASSERT_EQ((*store)->GetSeries(1)->samples(), stored);
    }
    store->reset();
    if (round % 10 != 9) continue;
    const auto report = CheckStore(folder.path() + "/store");
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(report->whole()) << report->problems[0];
  }
  const int done = ends[kDone];
  EXPECT_LT(done, Rounds()) << "no fault was ever met";
  printf("of %d: %d done, %d not opened, %d refused writes, %d power cuts, %d aborted by RocksDB\n", Rounds(),
         done, ends[kNotOpened], ends[kRefusedWrites], ends[kPowerCutExit], ends[255]);
}

std::string NameOf(const ::testing::TestParamInfo<DiskFault>& fault) {
  constexpr std::array kNames = {"None",      "OneWriteFails", "WritesFail", "OneReadFails",
                                 "ReadsFail", "OneBitFlips",   "PowerCut"};
  return kNames[static_cast<size_t>(fault.param)];
}

INSTANTIATE_TEST_SUITE_P(Disk, StoreFaults,
                         ::testing::Values(DiskFault::kWriteOnce, DiskFault::kWritesFrom,
                                           DiskFault::kReadOnce, DiskFault::kReadsFrom, DiskFault::kFlipOnce,
                                           DiskFault::kPowerCut),
                         NameOf);

}  // namespace
}  // namespace fleetmark::collector

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "work") {
    fleetmark::collector::Work(argv[2], static_cast<fleetmark::DiskFault>(std::atoi(argv[3])),
                               std::strtoull(argv[4], nullptr, 10), std::strtoull(argv[5], nullptr, 10));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
