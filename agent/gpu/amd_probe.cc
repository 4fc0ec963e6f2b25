#include "agent/gpu/amd_probe.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace fleetmark::gpu_probe {
namespace {

constexpr size_t kMaxGpus = 64;

bool IsCard(const std::string& name) {
  return name.size() > 4 && name.rfind("card", 0) == 0 &&
         name.find_first_not_of("0123456789", 4) == std::string::npos;
}

// The value after `key=` or `key ` at the start of a line.
std::string LineOf(const std::string& text, const std::string& key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, key.size(), key) == 0) return text.substr(at + key.size(), end - at - key.size());
    at = end + 1;
  }
  return "";
}

std::string Scaled(const std::string& number, double factor, const char* unit) {
  if (number.empty()) return "";
  char text[64];
  snprintf(text, sizeof text, "%.0f%s", strtod(number.c_str(), nullptr) * factor, unit);
  return text;
}

// The highest of "0: 500Mhz\n1: 1700Mhz *".
std::string HighestClock(const std::string& levels) {
  long highest = 0;
  for (size_t at = 0; at < levels.size();) {
    const size_t colon = levels.find(':', at);
    if (colon == std::string::npos) break;
    highest = std::max(highest, strtol(levels.c_str() + colon + 1, nullptr, 10));
    at = std::min(levels.find('\n', colon), levels.size() - 1) + 1;
  }
  return highest > 0 ? std::to_string(highest) + " MHz" : "";
}

std::string Hwmon(const std::string& device) {
  const auto names = ListFolder(device + "/hwmon");
  return names.empty() ? device + "/hwmon" : device + "/hwmon/" + names.front();
}

// kfd's numbers of the GPU at each PCI address: one for each partition.
std::map<std::string, std::vector<std::string>> KfdNumbers(const std::string& root) {
  std::map<std::string, std::vector<std::string>> numbers;
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  for (const std::string& name : ListFolder(nodes)) {
    const std::string number = ReadText(nodes + "/" + name + "/gpu_id");
    if (number.empty() || number == "0") continue;  // a processor
    const std::string properties = ReadText(nodes + "/" + name + "/properties");
    const auto location = strtoul(LineOf(properties, "location_id ").c_str(), nullptr, 10);
    const auto domain = strtoul(LineOf(properties, "domain ").c_str(), nullptr, 10);
    char address[32];
    snprintf(address, sizeof address, "%04lx:%02lx:%02lx.%lx", domain, location >> 8 & 0xff,
             location >> 3 & 0x1f, location & 7);
    numbers[address].push_back(number);
  }
  return numbers;
}

// Has a queue on the GPU, or memory of it.
bool Uses(const std::string& process, const std::string& gpu_number) {
  if (strtoull(ReadText(process + "/vram_" + gpu_number).c_str(), nullptr, 10) > 0) return true;
  for (const std::string& queue : ListFolder(process + "/queues")) {
    if (ReadText(process + "/queues/" + queue + "/gpuid") == gpu_number) return true;
  }
  return false;
}

void AddProcesses(const std::string& root, const std::vector<std::string>& numbers, ProbeGpu* gpu) {
  const std::string kfd = root + "/sys/class/kfd/kfd";
  const std::vector<std::string> pids = ListFolder(kfd + "/proc");
  // Without kfd nothing can compute there; with kfd, but no number for this GPU, it can't be told.
  if (numbers.empty() && !ListFolder(kfd).empty()) return;
  gpu->Add("processes", "known");
  for (const std::string& pid : pids) {
    const bool uses = std::any_of(numbers.begin(), numbers.end(), [&](const std::string& number) {
      return Uses(kfd + "/proc/" + pid, number);
    });
    if (uses) gpu->Add("process", DescribeProcess(root, strtol(pid.c_str(), nullptr, 10)));
  }
}

void AddCard(const std::string& root, const std::string& device, ProbeGpu* gpu) {
  const std::string hwmon = Hwmon(device);
  gpu->Add("vendor", "amd");
  gpu->Add("uuid", ReadText(device + "/unique_id"));
  gpu->Add("fact.model", ReadText(device + "/product_name"));
  gpu->Add("fact.device", ReadText(device + "/device"));
  gpu->Add("fact.driver", ReadText(root + "/sys/module/amdgpu/version"));
  gpu->Add("fact.vbios", ReadText(device + "/vbios_version"));
  gpu->Add("fact.clock.sm.max", HighestClock(ReadText(device + "/pp_dpm_sclk")));
  gpu->Add("fact.clock.memory.max", HighestClock(ReadText(device + "/pp_dpm_mclk")));
  gpu->Add("fact.clock.policy", ReadText(device + "/power_dpm_force_performance_level"));
  gpu->Add("fact.power.limit", Scaled(ReadText(hwmon + "/power1_cap"), 1e-6, " W"));
  gpu->Add("fact.partition", ReadText(device + "/current_compute_partition"));
  gpu->Add("utilization_percent", ReadText(device + "/gpu_busy_percent"));
  gpu->Add("temperature_c", Scaled(ReadText(hwmon + "/temp1_input"), 1e-3, ""));
  gpu->Add("clock_mhz", Scaled(ReadText(hwmon + "/freq1_input"), 1e-6, ""));
}

}  // namespace

void FindAmdGpus(const std::string& root, std::vector<ProbeGpu>* gpus) {
  auto numbers = KfdNumbers(root);
  const std::string drm = root + "/sys/class/drm";
  size_t found = 0;
  for (const std::string& name : ListFolder(drm)) {
    const std::string device = drm + "/" + name + "/device";
    if (!IsCard(name) || ReadText(device + "/vendor") != "0x1002" || ++found > kMaxGpus) continue;
    ProbeGpu gpu;
    gpu.pci_address = LineOf(ReadText(device + "/uevent"), "PCI_SLOT_NAME=");
    AddCard(root, device, &gpu);
    AddProcesses(root, numbers[gpu.pci_address], &gpu);
    gpus->push_back(std::move(gpu));
  }
}

}  // namespace fleetmark::gpu_probe
