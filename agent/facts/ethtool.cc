#include "agent/facts/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/base/file.h"

namespace fleetmark::agent {
namespace {

template <size_t N>
std::string Text(const char (&text)[N]) {
  const std::string whole(text, strnlen(text, N));
  return whole == "N/A" ? "" : whole;
}

}  // namespace

std::optional<NicDriver> ReadNicDriver(const std::string& nic) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  if (!socket_fd.valid() || nic.size() >= sizeof request.ifr_name) return std::nullopt;
  memcpy(request.ifr_name, nic.data(), nic.size());
  ethtool_drvinfo info = {};
  info.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (ioctl(socket_fd.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;
  return NicDriver{Text(info.version), Text(info.fw_version)};
}

}  // namespace fleetmark::agent
