#include "common/run/marked_processes.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "common/base/file.h"

namespace fleetmark {
namespace {

constexpr int kRounds = 100;
constexpr int kPauseMs = 10;
constexpr size_t kEnvironmentBytes = 4 * 1024 * 1024;

std::vector<pid_t> FindMarked(const std::string& entry) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return found;
  const std::string wanted = absl::StrCat(std::string(1, '\0'), entry, std::string(1, '\0'));
  while (const dirent* item = readdir(proc)) {
    const pid_t pid = atoi(item->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    // Of a zombie it is empty, of a stranger's process not readable.
    const absl::StatusOr<std::string> text =
        ReadFile(absl::StrCat("/proc/", pid, "/environ"), kEnvironmentBytes);
    if (!text.ok()) continue;
    const std::string environment = absl::StrCat(std::string(1, '\0'), *text);
    if (environment.find(wanted) != std::string::npos) found.push_back(pid);
  }
  closedir(proc);
  return found;
}

}  // namespace

void KillMarked(const std::string& entry) {
  if (entry.empty()) return;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<pid_t> marked = FindMarked(entry);
    if (marked.empty()) return;
    for (pid_t pid : marked) kill(pid, SIGKILL);
    // For the kernel to take them away.
    poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace fleetmark
