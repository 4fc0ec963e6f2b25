#include "common/base/sd_notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/numbers.h"

#include "common/base/file.h"

namespace fleetmark {

bool SdNotify(std::string_view state) {
  const char* path = getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return false;
  const size_t length = strlen(path);
  sockaddr_un address{};
  if (length >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace

  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return false;
  const auto address_length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent = sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), address_length);
  return sent == static_cast<ssize_t>(state.size());
}

absl::Duration SdWatchdogInterval() {
  const char* text = getenv("WATCHDOG_USEC");
  int64_t microseconds = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &microseconds) || microseconds <= 0) {
    return absl::InfiniteDuration();
  }
  const char* pid = getenv("WATCHDOG_PID");
  int64_t wanted = 0;
  if (pid != nullptr && absl::SimpleAtoi(pid, &wanted) && wanted != getpid()) return absl::InfiniteDuration();
  return absl::Microseconds(microseconds);
}

}  // namespace fleetmark
