#include "common/base/sd_notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

#include "common/base/file.h"

namespace fleetmark {
namespace {

// A service manager's end of the protocol.
class Manager {
 public:
  explicit Manager(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path.data(), path.size());
    if (path[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~Manager() { unsetenv("NOTIFY_SOCKET"); }
  std::string Receive() {
    char buffer[256];
    const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
    return std::string(buffer, n > 0 ? static_cast<size_t>(n) : 0);
  }

 private:
  UniqueFd fd_;
};

TEST(SdNotify, ReachesASocketInTheFileSystemAndAnAbstractOne) {
  const std::string file = testing::TempDir() + "fm_notify_" + std::to_string(getpid());
  for (const std::string& path : {file, "@" + file}) {
    Manager manager(path);
    EXPECT_TRUE(SdNotify("READY=1"));
    EXPECT_EQ(manager.Receive(), "READY=1");
  }
  unlink(file.c_str());
}

TEST(SdNotify, NoManagerNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(SdNotify("READY=1"));
  setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
  EXPECT_FALSE(SdNotify("READY=1"));
  unsetenv("NOTIFY_SOCKET");
}

TEST(SdNotify, WatchdogIsForThisProcessOnly) {
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(SdWatchdogInterval(), absl::InfiniteDuration());
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(SdWatchdogInterval(), absl::Seconds(30));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(SdWatchdogInterval(), absl::InfiniteDuration());
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(SdWatchdogInterval(), absl::Seconds(30));
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace fleetmark
