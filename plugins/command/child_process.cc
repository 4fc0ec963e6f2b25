#include "plugins/command/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

extern char** environ;

namespace fleetmark::command {
namespace {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  void Close() {
    if (ok()) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  Fd read_end;
  Fd write_end;
};

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) {
      data += n;
      size -= static_cast<size_t>(n);
    }
  }
}

// A file in memory: unlike a pipe it can't fill up while nobody reads.
Fd MemoryFile(const std::string& content) {
  Fd file(memfd_create("stdin", MFD_CLOEXEC));
  if (!file.ok()) return file;
  WriteAll(file.get(), content.data(), content.size());
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!added.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, text] : added) variables.push_back(name + "=" + text);
  return variables;
}

// 0, or an errno.
int Spawn(const ChildOptions& options, int in, int out, int err, const sigset_t& mask, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = Environment(options.environment);
  const int error = posix_spawnp(pid, arguments[0].c_str(), &actions, &attributes, Pointers(arguments).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

enum class Taken { kSome, kNothingNow, kEnd };

// One read, so that no pipe, however fast it is filled, keeps the caller from the rest.
Taken TakeOnce(const Fd& pipe, std::string* kept, std::string* both) {
  char buffer[65536];
  const ssize_t n = read(pipe.get(), buffer, sizeof buffer);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Taken::kNothingNow : Taken::kEnd;
  if (n == 0) return Taken::kEnd;
  kept->append(buffer, static_cast<size_t>(n));
  both->append(buffer, static_cast<size_t>(n));
  WriteAll(STDERR_FILENO, buffer, static_cast<size_t>(n));
  return Taken::kSome;
}

// Fills in what the program prints until it ends.
void Collect(pid_t pid, const ChildOptions& options, const Fd& child_ended, Pipe& out, Pipe& err,
             ChildResult* result) {
  const auto take = [result](Pipe& pipe, std::string* kept) {
    const Taken taken = pipe.read_end.ok() ? TakeOnce(pipe.read_end, kept, &result->both) : Taken::kEnd;
    if (taken == Taken::kEnd) pipe.read_end.Close();
    return taken;
  };
  const auto too_much = [&] {
    return std::max(result->standard_output.size(), result->standard_error.size()) > options.max_output_bytes;
  };
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    pollfd fds[] = {
        {child_ended.get(), POLLIN, 0}, {out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
    poll(fds, 3, -1);
    signalfd_siginfo ignored;
    while (read(child_ended.get(), &ignored, sizeof ignored) > 0) {
    }
    take(out, &result->standard_output);
    take(err, &result->standard_error);
    if (too_much()) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
  }
  result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // The pipes may still hold what it wrote last.
  while (!too_much() && take(out, &result->standard_output) == Taken::kSome) {
  }
  while (!too_much() && take(err, &result->standard_error) == Taken::kSome) {
  }
  result->too_much_output = too_much();
}

}  // namespace

ChildResult RunChild(const ChildOptions& options) {
  sigset_t child_signal;
  sigset_t old_mask;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child_signal, &old_mask);
  const Fd child_ended(signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  const Fd input = MemoryFile(options.standard_input);
  Pipe out;
  Pipe err;
  ChildResult result;
  if (!child_ended.ok() || !input.ok() || !out.read_end.ok() || !err.read_end.ok()) {
    result.start_error = errno;
    return result;
  }
  pid_t pid = 0;
  result.start_error = Spawn(options, input.get(), out.write_end.get(), err.write_end.get(), old_mask, &pid);
  out.write_end.Close();
  err.write_end.Close();
  if (result.start_error == 0) Collect(pid, options, child_ended, out, err, &result);
  return result;
}

}  // namespace fleetmark::command
