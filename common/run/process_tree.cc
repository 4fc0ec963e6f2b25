#include "common/run/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <set>

namespace fleetmark::launch {
namespace {

// A bomb that forks faster than it can be stopped must not hold up the killing.
constexpr int kStopRounds = 50;

struct Process {
  pid_t pid;
  pid_t parent;
};

// False when the process is gone or a zombie.
bool ReadProcess(const char* pid_text, Process& process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid_text);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[512];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  // "pid (name) state parent …": the name may hold anything, also ')'.
  const char* after_name = strrchr(text, ')');
  char state = 0;
  int parent = 0;
  if (after_name == nullptr || sscanf(after_name + 1, " %c %d", &state, &parent) != 2) return false;
  process = {static_cast<pid_t>(atoi(pid_text)), static_cast<pid_t>(parent)};
  return state != 'Z' && state != 'X';
}

std::vector<Process> AllProcesses() {
  std::vector<Process> all;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return all;
  while (const dirent* entry = readdir(proc)) {
    Process process;
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && ReadProcess(entry->d_name, process)) {
      all.push_back(process);
    }
  }
  closedir(proc);
  return all;
}

}  // namespace

std::vector<pid_t> Descendants() {
  const std::vector<Process> all = AllProcesses();
  std::set<pid_t> known = {getpid()};
  std::vector<pid_t> found;
  for (size_t before = 0; before != known.size();) {
    before = known.size();
    for (const Process& process : all) {
      if (known.count(process.parent) != 0 && known.insert(process.pid).second) found.push_back(process.pid);
    }
  }
  return found;
}

void SignalDescendants(int signal) {
  for (pid_t pid : Descendants()) kill(pid, signal);
}

void KillDescendants() {
  std::set<pid_t> stopped;
  for (int round = 0; round < kStopRounds; ++round) {
    bool any_new = false;
    for (pid_t pid : Descendants()) {
      if (!stopped.insert(pid).second) continue;
      kill(pid, SIGSTOP);
      any_new = true;
    }
    if (!any_new) break;
  }
  SignalDescendants(SIGKILL);
}

}  // namespace fleetmark::launch
