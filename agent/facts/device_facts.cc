// GPUs, and disks and network interfaces that are hardware (or a virtual machine's), not made by software.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "agent/facts/sources.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxDevices = 64;  // of each kind
constexpr size_t kMaxPorts = 8;
constexpr uint64_t kSectorBytes = 512;  // of /sys/block/*/size, whatever the disk's own

void AddDisk(const FactSources& sources, const std::string& name, FactSet& facts) {
  const std::string folder = absl::StrCat("/sys/block/", name);
  const std::string prefix = absl::StrCat("disk.", name, ".");
  facts.Add(prefix + "model", sources.Line(folder + "/device/model"));
  for (const char* file : {"/device/firmware_rev", "/device/rev"}) {  // NVMe; SCSI
    facts.Add(prefix + "firmware", sources.Line(folder + file));
  }
  facts.Add(prefix + "transport", sources.Line(folder + "/device/transport"));
  uint64_t sectors = 0;
  if (absl::SimpleAtoi(sources.Line(folder + "/size").value_or(""), &sectors)) {
    facts.Add(prefix + "size", absl::StrCat(sectors * kSectorBytes));
  }
  facts.Add(prefix + "rotational", sources.Line(folder + "/queue/rotational"));
  if (const auto scheduler = sources.Line(folder + "/queue/scheduler")) {
    facts.Add(prefix + "scheduler", Bracketed(*scheduler));
  }
}

void AddNic(const FactSources& sources, const std::string& name, const std::optional<NicDriver>& driver,
            FactSet& facts) {
  const std::string folder = absl::StrCat("/sys/class/net/", name);
  const std::string prefix = absl::StrCat("nic.", name, ".");
  facts.Add(prefix + "driver", sources.LinkName(folder + "/device/driver"));
  facts.Add(prefix + "mtu", sources.Line(folder + "/mtu"));
  // -1, or an error on reading, while there is no link.
  int64_t megabits = 0;
  if (absl::SimpleAtoi(sources.Line(folder + "/speed").value_or(""), &megabits) && megabits > 0) {
    facts.Add(prefix + "speed", absl::StrCat(megabits, " Mbit/s"));
  }
  if (!driver.has_value()) return;
  facts.Add(prefix + "firmware", driver->firmware);
  facts.Add(prefix + "driver.version", driver->version);
}

void AddInfiniband(const FactSources& sources, const std::string& name, FactSet& facts) {
  const std::string folder = absl::StrCat("/sys/class/infiniband/", name);
  const std::string prefix = absl::StrCat("infiniband.", name, ".");
  facts.Add(prefix + "firmware", sources.Line(folder + "/fw_ver"));
  facts.Add(prefix + "board", sources.Line(folder + "/board_id"));
  facts.Add(prefix + "type", sources.Line(folder + "/hca_type"));
  size_t ports = 0;
  for (const std::string& port : sources.List(folder + "/ports")) {
    if (++ports > kMaxPorts) break;
    const std::string at = absl::StrCat(folder, "/ports/", port);
    facts.Add(absl::StrCat(prefix, "port", port, ".rate"), sources.Line(at + "/rate"));
    facts.Add(absl::StrCat(prefix, "port", port, ".link"), sources.Line(at + "/link_layer"));
  }
}

void AddNics(const FactSources& sources,
             const std::function<std::optional<NicDriver>(const std::string&)>& nic_driver, FactSet& facts) {
  size_t nics = 0;
  for (const std::string& name : sources.List("/sys/class/net")) {
    const std::string device = absl::StrCat("/sys/class/net/", name, "/device");
    // Bridges, tunnels and veth pairs have no device; virtual functions move into pods and back.
    if (!sources.Exists(device) || sources.Exists(device + "/physfn")) continue;
    if (++nics > kMaxDevices) break;
    AddNic(sources, name, nic_driver ? nic_driver(name) : std::nullopt, facts);
  }
}

}  // namespace

void AddDeviceFacts(const FactSources& sources,
                    const std::function<std::optional<NicDriver>(const std::string&)>& nic_driver,
                    FactSet& facts) {
  size_t disks = 0;
  for (const std::string& name : sources.List("/sys/block")) {
    const std::string folder = absl::StrCat("/sys/block/", name);
    // Loop devices, memory disks, volumes and snapshots have no device; sticks come and go.
    if (!sources.Exists(folder + "/device") || sources.Line(folder + "/removable") == "1") continue;
    if (++disks <= kMaxDevices) AddDisk(sources, name, facts);
  }
  AddNics(sources, nic_driver, facts);
  size_t adapters = 0;
  for (const std::string& name : sources.List("/sys/class/infiniband")) {
    if (sources.Exists(absl::StrCat("/sys/class/infiniband/", name, "/device/physfn"))) continue;
    if (++adapters <= kMaxDevices) AddInfiniband(sources, name, facts);
  }
}

void AddGpuFacts(const std::vector<GpuState>& gpus, FactSet& facts) {
  if (!gpus.empty()) facts.Add("gpu.count", absl::StrCat(gpus.size()));
  for (const GpuState& state : gpus) {
    const std::string prefix = state.gpu.name + ".";
    facts.Add(prefix + "vendor", state.gpu.vendor);
    facts.Add(prefix + "uuid", state.gpu.uuid);
    facts.Add(prefix + "pci", state.gpu.pci_address);
    facts.Add(prefix + "error", state.error);
    for (const auto& [name, value] : state.facts) facts.Add(prefix + name, value);
  }
}

}  // namespace fleetmark::agent
