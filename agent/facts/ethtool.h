// What the kernel tells of a network interface's driver by the ETHTOOL_GDRVINFO ioctl.
//
// Thread-safety: a function without state. Errors: nothing where the kernel does not tell.
#ifndef FLEETMARK_AGENT_FACTS_ETHTOOL_H_
#define FLEETMARK_AGENT_FACTS_ETHTOOL_H_

#include <optional>
#include <string>

namespace fleetmark::agent {

struct NicDriver {
  std::string version;   // the kernel's own, for a driver that came with it
  std::string firmware;  // may be empty
};

std::optional<NicDriver> ReadNicDriver(const std::string& nic);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_ETHTOOL_H_
