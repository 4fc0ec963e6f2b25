// A process that is killed at any moment loses nothing that it acknowledged and doubles nothing.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "collector/store/store.h"
#include "tests/unit/collector/store/records.h"

namespace fleetmark::collector {
namespace {

// FM_CRASH_ROUNDS=500 for the long form.
int Rounds() {
  const char* const rounds = std::getenv("FM_CRASH_ROUNDS");
  return rounds == nullptr ? 12 : std::atoi(rounds);
}

Store::Options OptionsFor(const std::string& folder) {
  Store::Options options;
  options.folder = folder;
  options.write_buffer_bytes = 1 << 20;  // so that flushes and compactions are met too
  return options;
}

// Commits batches from the watermark on, and writes the last durable sequence to `fd` after each.
[[noreturn]] void CommitForEver(const std::string& folder, int fd) {
  auto store = Store::Open(OptionsFor(folder));
  if (!store.ok()) _exit(3);
  const auto watermark = (*store)->Watermark("n1", kEpoch);
  if (!watermark.ok()) _exit(4);
  // Maintenance, compaction and backups meet the kill too.
  std::thread care([&store, &folder] {
    const std::string copy = folder + "/copy";
    for (;;) {
      RemoveTree(copy).IgnoreError();
      if (!(*store)->Maintain(kStartNs + int64_t{10} * 86'400 * 1'000'000'000).ok()) _exit(7);
      if (!(*store)->Backup(copy).ok()) _exit(8);
      if (!(*store)->Compact().ok()) _exit(9);
    }
  });
  for (uint64_t sequence = *watermark + 1;;) {
    SenderRecords batch{"n1", kEpoch, {}};
    for (int i = 0; i < 5; ++i, ++sequence) {
      batch.records.push_back(RunRecord(
          sequence, MakeRun(kStartNs + static_cast<int64_t>(sequence), static_cast<double>(sequence), 3)));
    }
    const uint64_t last = sequence - 1;
    if (!(*store)->Commit({batch}).ok()) _exit(5);
    if (write(fd, &last, sizeof last) != sizeof last) _exit(6);
  }
}

// Lets a child commit for `ms` after its first commit, kills it, and gives what it acknowledged last.
uint64_t CommitAndKill(const std::string& folder, int ms) {
  int pipe_fds[2];
  EXPECT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_fds[0]);
    CommitForEver(folder, pipe_fds[1]);
  }
  close(pipe_fds[1]);
  uint64_t acked = 0;
  EXPECT_EQ(read(pipe_fds[0], &acked, sizeof acked), static_cast<ssize_t>(sizeof acked));
  poll(nullptr, 0, ms);
  kill(child, SIGKILL);
  while (read(pipe_fds[0], &acked, sizeof acked) == static_cast<ssize_t>(sizeof acked)) {
  }
  close(pipe_fds[0]);
  int wait_status = 0;
  EXPECT_EQ(waitpid(child, &wait_status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(wait_status)) << "the child ended by itself with " << WEXITSTATUS(wait_status);
  return acked;
}

TEST(StoreCrash, EveryAcknowledgedRecordIsThereOnceAfterAKill) {
  TempFolder folder;
  std::mt19937 rng(7);
  for (int round = 0; round < Rounds(); ++round) {
    const uint64_t acked = CommitAndKill(folder.path(), std::uniform_int_distribution<int>(0, 120)(rng));
    auto store = Store::Open(OptionsFor(folder.path()));
    ASSERT_TRUE(store.ok()) << store.status();
    const uint64_t stored = *(*store)->Watermark("n1", kEpoch);
    ASSERT_GE(stored, acked) << "round " << round;
    ASSERT_EQ(stored % 5, 0u) << "half a batch is stored";
    const auto counts = (*store)->Counts();
    EXPECT_EQ(counts->runs, stored);
    EXPECT_EQ(counts->samples, 3 * stored);
    for (uint64_t series = 1; series <= 3; ++series) {
      uint64_t expected = 1;
      ASSERT_TRUE((*store)
                      ->ScanSamples(series, 0, kStartNs * 2,
                                    [&expected](const v1::Sample& sample) {
                                      EXPECT_EQ(sample.value(), static_cast<double>(expected++));
                                      return true;
                                    })
                      .ok());
      EXPECT_EQ(expected, stored + 1);
      EXPECT_EQ((*store)->GetSeries(series)->samples(), stored);
    }
  }
}

}  // namespace
}  // namespace fleetmark::collector
