#include "tests/unit/collector/store/store_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

constexpr int kAcknowledgements = 3;  // the descriptor in the process

}  // namespace

EndOfProcess RunSelf(const std::vector<std::string>& arguments, int kill_after_ms) {
  int pipe_fds[2];
  EXPECT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], kAcknowledgements);
  std::vector<std::string> words = {"/proc/self/exe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_fds[1]);
  EndOfProcess end;
  const auto read_one = [&] {
    return read(pipe_fds[0], &end.acknowledged, sizeof end.acknowledged) == sizeof end.acknowledged;
  };
  if (kill_after_ms >= 0 && read_one()) {
    poll(nullptr, 0, kill_after_ms);
    kill(child, SIGKILL);
  }
  while (read_one()) {
  }
  close(pipe_fds[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  end.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return end;
}

void Acknowledge(uint64_t sequence) {
  if (write(kAcknowledgements, &sequence, sizeof sequence) != sizeof sequence) _exit(30);
}

}  // namespace fleetmark::collector
