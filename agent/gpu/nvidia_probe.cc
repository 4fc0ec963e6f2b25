#include "agent/gpu/nvidia_probe.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "agent/gpu/nvml_api.h"

namespace fleetmark::gpu_probe {
namespace {

constexpr unsigned kMaxGpus = 64;
constexpr unsigned kMaxMigDevices = 16;
constexpr unsigned kFirstProcesses = 64;
constexpr unsigned kMaxProcesses = 4096;
constexpr int kProcessTries = 4;
constexpr unsigned char kUntouched = 0xa5;

constexpr struct {
  unsigned long long bit;
  const char* name;
} kThrottleReasons[] = {
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clocks"},
};

std::string Text(NvmlReturn (*function)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  char text[256] = "";
  if (function == nullptr || function(device, text, sizeof text - 1) != kNvmlSuccess) return "";
  return text;
}

std::string Number(NvmlReturn (*function)(NvmlDevice, unsigned*), NvmlDevice device, unsigned divisor = 1) {
  unsigned value = 0;
  if (function == nullptr || function(device, &value) != kNvmlSuccess) return "";
  return std::to_string(value / divisor);
}

std::string Number(NvmlReturn (*function)(NvmlDevice, unsigned, unsigned*), NvmlDevice device,
                   unsigned kind) {
  unsigned value = 0;
  if (function == nullptr || function(device, kind, &value) != kNvmlSuccess) return "";
  return std::to_string(value);
}

std::string OnOff(NvmlReturn (*function)(NvmlDevice, unsigned*, unsigned*), NvmlDevice device) {
  unsigned now = 0;
  unsigned after_reset = 0;
  if (function == nullptr || function(device, &now, &after_reset) != kNvmlSuccess) return "";
  const std::string text = now != 0 ? "on" : "off";
  return now == after_reset ? text : text + ", other after a reset";
}

std::string Persistence(const Nvml& nvml, NvmlDevice device) {
  const std::string value = Number(nvml.Persistence, device);
  return value.empty() ? "" : value == "0" ? "off" : "on";
}

void AddUnit(ProbeGpu* gpu, const std::string& key, const std::string& number, const char* unit) {
  if (!number.empty()) gpu->Add(key, number + " " + unit);
}

// "2x 1g.5gb, 1x 3g.20gb": the part of a MIG device's name after "MIG ".
std::string MigProfiles(const Nvml& nvml, NvmlDevice device) {
  unsigned count = 0;
  if (nvml.MigMaxCount == nullptr || nvml.MigByIndex == nullptr) return "";
  if (nvml.MigMaxCount(device, &count) != kNvmlSuccess) return "";
  std::map<std::string, int> profiles;
  for (unsigned i = 0; i < std::min(count, kMaxMigDevices); ++i) {
    NvmlDevice mig = nullptr;
    if (nvml.MigByIndex(device, i, &mig) != kNvmlSuccess) continue;
    const std::string name = Text(nvml.Name, mig);
    const size_t at = name.find("MIG ");
    ++profiles[at == std::string::npos ? name : name.substr(at + 4)];
  }
  std::string text;
  for (const auto& [name, number] : profiles) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + "x " + name;
  }
  return text;
}

// A process number for each, at 24 bytes or, with early drivers of release 535, 32: told by how far the
// library wrote. False when they can't be told.
bool ProcessesOf(const Nvml& nvml, NvmlDevice device, std::vector<unsigned>* pids) {
  if (nvml.Processes == nullptr) return false;
  unsigned room = kFirstProcesses;
  const unsigned char untouched[] = {kUntouched, kUntouched, kUntouched, kUntouched};
  for (int attempt = 0; attempt < kProcessTries; ++attempt) {
    std::vector<unsigned char> buffer(size_t{room} * kNvmlLongProcessBytes, kUntouched);
    unsigned count = room;
    const NvmlReturn result = nvml.Processes(device, &count, reinterpret_cast<NvmlProcess*>(buffer.data()));
    if (result == kNvmlInsufficientSize) {
      room = std::min(std::max(count, room) * 2, kMaxProcesses);
      continue;
    }
    if (result != kNvmlSuccess || count > room) return false;
    const size_t end = size_t{count} * sizeof(NvmlProcess);
    const bool is_long = count > 0 && memcmp(buffer.data() + end, untouched, sizeof untouched) != 0;
    const size_t step = is_long ? kNvmlLongProcessBytes : sizeof(NvmlProcess);
    for (unsigned i = 0; i < count; ++i) {
      unsigned pid = 0;
      memcpy(&pid, buffer.data() + i * step, sizeof pid);
      pids->push_back(pid);
    }
    return true;
  }
  return false;
}

void AddFacts(const Nvml& nvml, NvmlDevice device, const std::string& driver, ProbeGpu* gpu) {
  gpu->Add("uuid", Text(nvml.Uuid, device));
  gpu->Add("fact.model", Text(nvml.Name, device));
  gpu->Add("fact.driver", driver);
  gpu->Add("fact.vbios", Text(nvml.Vbios, device));
  gpu->Add("fact.ecc", OnOff(nvml.EccMode, device));
  gpu->Add("fact.persistence", Persistence(nvml, device));
  AddUnit(gpu, "fact.clock.sm.max", Number(nvml.MaxClock, device, kNvmlClockSm), "MHz");
  AddUnit(gpu, "fact.clock.memory.max", Number(nvml.MaxClock, device, kNvmlClockMemory), "MHz");
  AddUnit(gpu, "fact.clock.sm.applications", Number(nvml.ApplicationsClock, device, kNvmlClockSm), "MHz");
  AddUnit(gpu, "fact.power.limit", Number(nvml.PowerLimit, device, 1000), "W");
  AddUnit(gpu, "fact.power.enforced_limit", Number(nvml.EnforcedPowerLimit, device, 1000), "W");
  const std::string mig = OnOff(nvml.MigMode, device);
  gpu->Add("fact.mig", mig);
  if (mig.rfind("on", 0) == 0) gpu->Add("fact.mig.devices", MigProfiles(nvml, device));
}

void AddState(const Nvml& nvml, NvmlDevice device, const std::string& root, ProbeGpu* gpu) {
  NvmlUtilization use = {};
  if (nvml.Utilization != nullptr && nvml.Utilization(device, &use) == kNvmlSuccess) {
    gpu->Add("utilization_percent", std::to_string(use.gpu));
  }
  gpu->Add("temperature_c", Number(nvml.Temperature, device, kNvmlTemperatureGpu));
  gpu->Add("clock_mhz", Number(nvml.Clock, device, kNvmlClockSm));
  unsigned long long reasons = 0;
  if (nvml.ThrottleReasons != nullptr && nvml.ThrottleReasons(device, &reasons) == kNvmlSuccess) {
    for (const auto& reason : kThrottleReasons) {
      if ((reasons & reason.bit) != 0) gpu->Add("throttle", reason.name);
    }
  }
  std::vector<unsigned> pids;
  if (!ProcessesOf(nvml, device, &pids)) return;
  gpu->Add("processes", "known");
  for (const unsigned pid : pids) gpu->Add("process", DescribeProcess(root, pid));
}

std::string Address(const NvmlPciInfo& pci) {
  char text[32];
  snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
  return text;
}

void AddLost(const std::string& root, std::vector<ProbeGpu>* gpus) {
  const std::string folder = root + "/sys/bus/pci/drivers/nvidia";
  for (const std::string& name : ListFolder(folder)) {
    const std::string kind = ReadText(folder + "/" + name + "/class");  // 0x03….: a display or 3D controller
    if (kind.rfind("0x03", 0) != 0) continue;
    const bool found =
        std::any_of(gpus->begin(), gpus->end(), [&](const ProbeGpu& gpu) { return gpu.pci_address == name; });
    if (found) continue;
    ProbeGpu& gpu = gpus->emplace_back();
    gpu.pci_address = name;
    gpu.Add("vendor", "nvidia");
    gpu.Add("error", "the driver does not answer for it");
  }
}

std::string Failure(const Nvml& nvml, const char* what, NvmlReturn result) {
  const char* text = nvml.ErrorString == nullptr ? nullptr : nvml.ErrorString(result);
  return std::string("NVML: ") + what + ": " + (text == nullptr ? "" : text) + " (" + std::to_string(result) +
         ")";
}

}  // namespace

std::string FindNvidiaGpus(const std::string& root, std::vector<ProbeGpu>* gpus) {
  Nvml nvml;
  if (!LoadNvml(&nvml)) return "";
  NvmlReturn result = nvml.Init();
  if (result == kNvmlDriverNotLoaded || result == kNvmlLibraryNotFound) return "";
  if (result != kNvmlSuccess) return Failure(nvml, "initialise", result);
  unsigned count = 0;
  result = nvml.Count(&count);
  if (result != kNvmlSuccess) return Failure(nvml, "count the GPUs", result);
  char driver[128] = "";
  if (nvml.DriverVersion != nullptr) nvml.DriverVersion(driver, sizeof driver - 1);
  for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
    NvmlDevice device = nullptr;
    NvmlPciInfo pci = {};
    if (nvml.ByIndex(i, &device) != kNvmlSuccess || nvml.Pci(device, &pci) != kNvmlSuccess) continue;
    ProbeGpu& gpu = gpus->emplace_back();
    gpu.pci_address = Address(pci);
    gpu.Add("vendor", "nvidia");
    AddFacts(nvml, device, driver, &gpu);
    AddState(nvml, device, root, &gpu);
  }
  nvml.Shutdown();
  AddLost(root, gpus);
  return "";
}

}  // namespace fleetmark::gpu_probe
