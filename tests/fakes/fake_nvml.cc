// A stand-in for libnvidia-ml.so.1. What it answers stands in the file that FAKE_NVML names, or in
// fake_nvml.txt beside the library, one "key value" a line: "count 2", "init 9" (the return value of the
// initialisation), "hang 1", "processes_long 1" (the longer process records of early drivers of release 535),
// and for GPU 0 "0.name …", "0.pids 12 34", "0.fail 15" (no handle: the GPU is lost). A key that is not there
// is answered with "not supported".
//
// Its declarations are its own, not the probe's: the two check each other.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;

struct Pci {
  char legacy[16];
  uint32_t domain, bus, device, id, subsystem;
  char bus_id[32];
};
static_assert(sizeof(Pci) == 68);

struct Process {
  uint32_t pid;
  uint64_t memory;
  uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(Process) == 24);

struct LongProcess {
  Process process;
  uint64_t protected_memory;
};
static_assert(sizeof(LongProcess) == 32);

std::string AnswerFile() {
  if (const char* path = getenv("FAKE_NVML")) return path;
  static const char here = 0;
  Dl_info self;
  if (dladdr(&here, &self) == 0) return "/dev/null";
  const std::string library = self.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "fake_nvml.txt";
}

const std::map<std::string, std::string>& Answers() {
  static const auto* answers = [] {
    auto* read = new std::map<std::string, std::string>;
    std::ifstream file(AnswerFile());
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      if (space != std::string::npos) (*read)[line.substr(0, space)] = line.substr(space + 1);
    }
    return read;
  }();
  return *answers;
}

const std::string* Find(const std::string& key) {
  const auto it = Answers().find(key);
  return it == Answers().end() ? nullptr : &it->second;
}

// Handles: the GPU's index + 1; of its MIG device m, plus 100 * (m + 1).
std::string Key(void* device, const char* what) {
  const auto handle = reinterpret_cast<uintptr_t>(device);
  const std::string mig = handle >= 100 ? ".mig" + std::to_string(handle / 100 - 1) : "";
  return std::to_string(handle % 100 - 1) + mig + "." + what;
}

int Text(void* device, const char* what, char* out, unsigned size) {
  const std::string* text = Find(Key(device, what));
  if (text == nullptr) return kNotSupported;
  if (text->size() >= size) return kInsufficientSize;
  memcpy(out, text->c_str(), text->size() + 1);
  return kSuccess;
}

int Number(void* device, const std::string& what, unsigned* out) {
  const std::string* text = Find(Key(device, what.c_str()));
  if (text == nullptr) return kNotSupported;
  *out = static_cast<unsigned>(strtoul(text->c_str(), nullptr, 0));
  return kSuccess;
}

int Pair(void* device, const char* what, unsigned* now, unsigned* after) {
  const std::string* text = Find(Key(device, what));
  if (text == nullptr) return kNotSupported;
  std::istringstream(*text) >> *now >> *after;
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (Find("hang") != nullptr) pause();
  if (Find("crash") != nullptr) abort();
  const std::string* result = Find("init");
  return result == nullptr ? kSuccess : atoi(result->c_str());
}

int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int) { return "a fake error"; }

int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  const std::string* text = Find("driver");
  if (text == nullptr || text->size() >= size) return kNotSupported;
  memcpy(out, text->c_str(), text->size() + 1);
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  const std::string* text = Find("count");
  *count = text == nullptr ? 0 : static_cast<unsigned>(atoi(text->c_str()));
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(uintptr_t{index} + 1);
  const std::string* failure = Find(Key(*device, "fail"));
  return failure == nullptr ? kSuccess : atoi(failure->c_str());
}

int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  *pci = {};
  return Number(device, "bus", &pci->bus);
}

int nvmlDeviceGetName(void* device, char* out, unsigned size) { return Text(device, "name", out, size); }
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) { return Text(device, "uuid", out, size); }
int nvmlDeviceGetVbiosVersion(void* device, char* out, unsigned size) {
  return Text(device, "vbios", out, size);
}
int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* after) {
  return Pair(device, "ecc", now, after);
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* after) {
  return Pair(device, "mig", now, after);
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* out) { return Number(device, "migs", out); }

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** out) {
  *out = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(device) + 100 * (uintptr_t{index} + 1));
  return Find(Key(*out, "name")) == nullptr ? kNotSupported : kSuccess;
}

int nvmlDeviceGetPersistenceMode(void* device, unsigned* out) { return Number(device, "persistence", out); }

int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* out) {
  return Number(device, "clock" + std::to_string(kind), out);
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned kind, unsigned* out) {
  return Number(device, "max_clock" + std::to_string(kind), out);
}
int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* out) { return Number(device, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* out) { return Number(device, "enforced", out); }
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* out) {
  return Number(device, "temperature", out);
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* both) {
  both[1] = 0;
  return Number(device, "utilization", both);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  unsigned bits = 0;
  const int result = Number(device, "throttle", &bits);
  *out = bits;
  return result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* out) {
  const std::string* text = Find(Key(device, "pids"));
  if (text == nullptr) return kNotSupported;
  std::istringstream numbers(*text);
  std::vector<LongProcess> processes;
  for (uint32_t pid = 0; numbers >> pid;) processes.push_back({{pid, 1 << 20, ~0U, ~0U}, 7});
  const bool fits = processes.size() <= *count;
  *count = static_cast<unsigned>(processes.size());
  if (!fits) return kInsufficientSize;
  const size_t step = Find("processes_long") != nullptr ? sizeof(LongProcess) : sizeof(Process);
  for (size_t i = 0; i < processes.size(); ++i)
    memcpy(static_cast<char*>(out) + i * step, &processes[i], step);
  return kSuccess;
}

}  // extern "C"
