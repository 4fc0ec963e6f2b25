#include "common/run/cgroup_members.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

namespace fleetmark::launch {
namespace {

bool Write(const char* folder, const char* file, const char* text) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= static_cast<int>(sizeof path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text, strlen(text)) >= 0;
  const int error = errno;
  close(fd);
  errno = error;
  return written;
}

}  // namespace

bool EnterCgroup(const char* folder) { return Write(folder, "cgroup.procs", "0"); }

int KillCgroup(const char* folder) {
  // The first ends all of a version 2 cgroup at one stroke, on Linux 5.14 and later; the second keeps a
  // bomb from forking while its processes are killed one by one.
  if (!Write(folder, "cgroup.kill", "1")) Write(folder, "pids.max", "0");
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/cgroup.procs", folder) >= static_cast<int>(sizeof path)) return 0;
  FILE* procs = fopen(path, "re");
  if (procs == nullptr) return 0;
  int count = 0;
  int pid = 0;
  while (fscanf(procs, "%d", &pid) == 1) {
    ++count;
    // 0 stands for a process that is not in our pid namespace; to kill it would be to kill our own group.
    if (pid > 0) kill(static_cast<pid_t>(pid), SIGKILL);
  }
  fclose(procs);
  return count;
}

}  // namespace fleetmark::launch
