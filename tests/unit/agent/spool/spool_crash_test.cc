// Kills a process that appends and acknowledges, at random moments, and looks at what is left.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "gtest/gtest.h"

#include "agent/spool/spool.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/spool/records.h"

namespace fleetmark::agent {
namespace {

struct Message {
  enum class Kind : uint64_t { kAppended, kAcked } kind;
  uint64_t sequence;
};

// Appends and now and then acknowledges, telling of each step that returned OK, until it is killed. The
// intent of an acknowledgement is told before it: a killed one may or may not have happened.
[[noreturn]] void AppendForEver(const Spool::Options& options, int fd) {
  FakeClock clock;
  auto spool = Spool::Open(options, clock);
  if (!spool.ok()) _exit(2);
  const auto tell = [fd](Message message) {
    if (write(fd, &message, sizeof message) != sizeof message) _exit(3);
  };
  for (int i = 1;; ++i) {
    const auto sequence =
        (*spool)->Append(RunRecord(std::to_string(i) + std::string(700, 'x')), Spool::Kind::kOther);
    if (!sequence.ok()) _exit(4);
    tell({Message::Kind::kAppended, *sequence});
    if (i % 7 == 0) {
      tell({Message::Kind::kAcked, *sequence - 3});
      if (!(*spool)->Ack(*sequence - 3).ok()) _exit(5);
    }
  }
}

TEST(SpoolCrashTest, EveryAppendThatReturnedIsThereAfterAKill) {
  TemporaryFolder folder;
  Spool::Options options;
  options.folder = folder.path();
  std::mt19937 rng(7);
  std::set<uint64_t> expected;
  uint64_t highest = 0;
  uint64_t appended = 0;
  std::string epoch;
  for (int round = 0; round < 30; ++round) {
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(fds[0]);
      AppendForEver(options, fds[1]);
    }
    close(fds[1]);
    // Counted in steps and not in time alone, so that a slow machine tests as much as a fast one. Zero
    // steps hits the opening.
    int steps = std::uniform_int_distribution<int>(0, 24)(rng);
    Message message;
    uint64_t acked = 0;
    const auto read_message = [&] {
      if (read(fds[0], &message, sizeof message) != sizeof message) return false;
      if (message.kind == Message::Kind::kAcked) {
        acked = message.sequence;
        return true;
      }
      EXPECT_GT(message.sequence, highest) << "a number was given out twice";
      highest = message.sequence;
      expected.insert(message.sequence);
      ++appended;
      return true;
    };
    while (steps-- > 0) ASSERT_TRUE(read_message());
    usleep(std::uniform_int_distribution<useconds_t>(0, 5'000)(rng));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
    while (read_message()) {
    }
    close(fds[0]);
    expected.erase(expected.begin(), expected.upper_bound(acked));

    FakeClock clock;
    auto spool = Spool::Open(options, clock);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ((*spool)->stats().damaged_files, 0u);
    if (epoch.empty()) epoch = (*spool)->epoch();
    EXPECT_EQ((*spool)->epoch(), epoch);
    std::set<uint64_t> found;
    const auto batch = (*spool)->ReadAfter(0, 64 << 20, 1'000'000);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const v1::Record& record : batch->records()) found.insert(record.sequence());
    for (uint64_t sequence : expected) EXPECT_EQ(found.count(sequence), 1u) << "lost " << sequence;
    // One that was on disk when the kill came before it could be told is there as well.
    if (!found.empty()) highest = std::max(highest, *found.rbegin());
    expected = found;
  }
  EXPECT_GT(appended, 100u);
}

}  // namespace
}  // namespace fleetmark::agent
