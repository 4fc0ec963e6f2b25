#include "tests/unit/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace fleetmark::cli {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// False at the end of the pipe.
bool ReadSome(int fd, std::string& to) {
  char buffer[4096];
  const ssize_t n = read(fd, buffer, sizeof(buffer));
  if (n > 0) to.append(buffer, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

Process::Process(std::vector<std::string> command, std::vector<std::string> environment) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) abort();
  environment.push_back(std::string("PATH=") + getenv("PATH"));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  if (posix_spawn(&pid_, command[0].c_str(), &actions, nullptr, Pointers(command).data(),
                  Pointers(environment).data()) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

bool Process::AwaitError(const std::string& text) {
  while (result_.err.find(text) == std::string::npos) {
    if (!ReadSome(err_, result_.err)) return false;
  }
  return true;
}

void Process::Signal(int signal) { kill(pid_, signal); }

Result Process::Wait() {
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    pollfd fds[] = {{out_open ? out_ : -1, POLLIN, 0}, {err_open ? err_ : -1, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) break;
    if (fds[0].revents != 0) out_open = ReadSome(out_, result_.out);
    if (fds[1].revents != 0) err_open = ReadSome(err_, result_.err);
  }
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status))
    result_.exit_status = WEXITSTATUS(status);
  pid_ = -1;
  return result_;
}

}  // namespace fleetmark::cli
