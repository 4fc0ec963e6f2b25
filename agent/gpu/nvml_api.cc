#include "agent/gpu/nvml_api.h"

#include <dlfcn.h>

namespace fleetmark::gpu_probe {
namespace {

template <typename Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

void FindDeviceFunctions(void* lib, Nvml* n) {
  Find(lib, "nvmlDeviceGetName", &n->Name);
  Find(lib, "nvmlDeviceGetUUID", &n->Uuid);
  Find(lib, "nvmlDeviceGetPciInfo_v3", &n->Pci);
  Find(lib, "nvmlDeviceGetVbiosVersion", &n->Vbios);
  Find(lib, "nvmlDeviceGetEccMode", &n->EccMode);
  Find(lib, "nvmlDeviceGetMigMode", &n->MigMode);
  Find(lib, "nvmlDeviceGetMaxMigDeviceCount", &n->MigMaxCount);
  Find(lib, "nvmlDeviceGetMigDeviceHandleByIndex", &n->MigByIndex);
  Find(lib, "nvmlDeviceGetPersistenceMode", &n->Persistence);
  Find(lib, "nvmlDeviceGetClockInfo", &n->Clock);
  Find(lib, "nvmlDeviceGetMaxClockInfo", &n->MaxClock);
  Find(lib, "nvmlDeviceGetApplicationsClock", &n->ApplicationsClock);
  Find(lib, "nvmlDeviceGetPowerManagementLimit", &n->PowerLimit);
  Find(lib, "nvmlDeviceGetEnforcedPowerLimit", &n->EnforcedPowerLimit);
  Find(lib, "nvmlDeviceGetUtilizationRates", &n->Utilization);
  Find(lib, "nvmlDeviceGetTemperature", &n->Temperature);
  Find(lib, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->ThrottleReasons);
  Find(lib, "nvmlDeviceGetComputeRunningProcesses_v3", &n->Processes);
}

}  // namespace

bool LoadNvml(Nvml* n) {
  *n = {};
  void* lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib == nullptr) return false;
  Find(lib, "nvmlInit_v2", &n->Init);
  Find(lib, "nvmlShutdown", &n->Shutdown);
  Find(lib, "nvmlErrorString", &n->ErrorString);
  Find(lib, "nvmlSystemGetDriverVersion", &n->DriverVersion);
  Find(lib, "nvmlDeviceGetCount_v2", &n->Count);
  Find(lib, "nvmlDeviceGetHandleByIndex_v2", &n->ByIndex);
  FindDeviceFunctions(lib, n);
  return n->Init != nullptr && n->Shutdown != nullptr && n->Count != nullptr && n->ByIndex != nullptr &&
         n->Pci != nullptr;
}

}  // namespace fleetmark::gpu_probe
