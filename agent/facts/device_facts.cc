// Disks and network interfaces that are hardware (or a virtual machine's), not made by software.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "agent/facts/sources.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxDevices = 64;      // of each kind
constexpr uint64_t kSectorBytes = 512;  // of /sys/block/*/size, whatever the disk's own

void AddDisk(const FactSources& sources, const std::string& name, FactSet& facts) {
  const std::string folder = absl::StrCat("/sys/block/", name);
  const std::string prefix = absl::StrCat("disk.", name, ".");
  facts.Add(prefix + "model", sources.Line(folder + "/device/model"));
  uint64_t sectors = 0;
  if (absl::SimpleAtoi(sources.Line(folder + "/size").value_or(""), &sectors)) {
    facts.Add(prefix + "size", absl::StrCat(sectors * kSectorBytes));
  }
  facts.Add(prefix + "rotational", sources.Line(folder + "/queue/rotational"));
  if (const auto scheduler = sources.Line(folder + "/queue/scheduler")) {
    facts.Add(prefix + "scheduler", Bracketed(*scheduler));
  }
}

void AddNic(const FactSources& sources, const std::string& name, FactSet& facts) {
  const std::string folder = absl::StrCat("/sys/class/net/", name);
  const std::string prefix = absl::StrCat("nic.", name, ".");
  facts.Add(prefix + "driver", sources.LinkName(folder + "/device/driver"));
  facts.Add(prefix + "mtu", sources.Line(folder + "/mtu"));
  // -1, or an error on reading, while there is no link.
  int64_t megabits = 0;
  if (absl::SimpleAtoi(sources.Line(folder + "/speed").value_or(""), &megabits) && megabits > 0) {
    facts.Add(prefix + "speed", absl::StrCat(megabits, " Mbit/s"));
  }
}

}  // namespace

void AddDeviceFacts(const FactSources& sources, FactSet& facts) {
  size_t disks = 0;
  for (const std::string& name : sources.List("/sys/block")) {
    const std::string folder = absl::StrCat("/sys/block/", name);
    // Loop devices, memory disks, volumes and snapshots have no device; sticks come and go.
    if (!sources.Exists(folder + "/device") || sources.Line(folder + "/removable") == "1") continue;
    if (++disks <= kMaxDevices) AddDisk(sources, name, facts);
  }
  size_t nics = 0;
  for (const std::string& name : sources.List("/sys/class/net")) {
    const std::string device = absl::StrCat("/sys/class/net/", name, "/device");
    // Bridges, tunnels and veth pairs have no device; virtual functions move into pods and back.
    if (!sources.Exists(device) || sources.Exists(device + "/physfn")) continue;
    if (++nics <= kMaxDevices) AddNic(sources, name, facts);
  }
}

}  // namespace fleetmark::agent
