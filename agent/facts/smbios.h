// Memory modules, as the firmware lists them: structures of type 17 in the SMBIOS table that Linux shows to
// root as /sys/firmware/dmi/tables/DMI. After DMTF DSP0134, "System Management BIOS Reference Specification",
// §6.1 and §7.18.
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_AGENT_FACTS_SMBIOS_H_
#define FLEETMARK_AGENT_FACTS_SMBIOS_H_

#include <string>
#include <string_view>

namespace fleetmark::agent {

// Texts name what differs, with how often: "16x 32 GiB", "15x 3200 MT/s, 1x 2933 MT/s".
struct MemoryModules {
  int slots = 0;
  int count = 0;  // slots with a module in them
  std::string sizes;
  std::string types;
  std::string speeds;  // as configured
  std::string parts;
};

// Reads as far as the table is sound. Any bytes are safe.
MemoryModules ReadMemoryModules(std::string_view table);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_SMBIOS_H_
